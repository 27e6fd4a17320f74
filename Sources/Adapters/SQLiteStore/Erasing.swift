internal import AgentPorts
internal import CSQLite

extension Connection {
  /// Removes every copy of deleted rows: from the WAL, and from the unallocated bytes of the file's pages, where they
  /// stay when SQLite moves rows between pages (`secure_delete` clears the place of a deletion only).
  ///
  /// The write lock keeps other processes' checkpoints away, since the WAL stays empty meanwhile. A crash between two
  /// writes leaves a sound database, since SQLite reads none of these bytes.
  ///
  /// - Parameter overwritingAll: true to write also where the bytes are 0 already: after a failed sync, reading shows
  ///   bytes that never reached the disk.
  /// - Returns: false if a reader or another connection prevents it.
  func eraseDeleted(overwritingAll: Bool) throws(StoreFailure) -> Bool {
    guard try truncateLog() else { return false }
    try statement("BEGIN IMMEDIATE").run()
    let isErased: Bool
    do throws(StoreFailure) {
      isErased = try isLogEmpty()
      if isErased { try clearUnallocatedBytes(overwritingAll: overwritingAll) }
    } catch {
      try? statement("ROLLBACK").run()
      throw error
    }
    try statement("ROLLBACK").run()
    // Cached pages still have those bytes, and their next change would write them to the WAL.
    releaseCachedPages()
    return isErased
  }

  private func isLogEmpty() throws(StoreFailure) -> Bool {
    guard let log = try file(SQLITE_FCNTL_JOURNAL_POINTER), log.pointee.pMethods != nil else { return true }
    return try size(of: log) == 0
  }

  private func clearUnallocatedBytes(overwritingAll: Bool) throws(StoreFailure) {
    guard let file = try file(SQLITE_FCNTL_FILE_POINTER), let methods = file.pointee.pMethods?.pointee else {
      throw .inputOutput
    }
    let pageSize = Int(try integer("PRAGMA page_size"))
    let pages = try size(of: file) / pageSize
    guard pages <= UnallocatedBytes.mostPages else { throw .corrupt }
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer {
      page.deallocate()
      zeros.deallocate()
    }
    zeros.initializeMemory(as: UInt8.self, repeating: 0)
    var isWritten = false
    for number in 0..<pages {
      let start = number * pageSize
      try check(methods.xRead(file, page.baseAddress, Int32(pageSize), Int64(start)))
      for range in UnallocatedBytes.ranges(of: UnsafeRawBufferPointer(page), isFirst: number == 0)
      where overwritingAll || page[range].contains(where: { $0 != 0 }) {
        try check(methods.xWrite(file, zeros.baseAddress, Int32(range.count), Int64(start + range.lowerBound)))
        isWritten = true
      }
    }
    if isWritten { try check(methods.xSync(file, SQLITE_SYNC_NORMAL)) }
  }

  private func size(of file: UnsafeMutablePointer<sqlite3_file>) throws(StoreFailure) -> Int {
    var size: sqlite3_int64 = 0
    try check(file.pointee.pMethods.pointee.xFileSize(file, &size))
    return Int(size)
  }
}

/// The bytes of a page that no row occupies (https://sqlite.org/fileformat2.html, section 1.6).
enum UnallocatedBytes {
  /// Below this number of pages (64 GiB), only a B-tree page begins with a byte other than 0: overflow and free pages
  /// begin with a page number of four bytes.
  static let mostPages = 1 << 24

  private static let headerByteCounts: [UInt8: Int] = [2: 12, 5: 12, 10: 8, 13: 8]

  /// - Parameter isFirst: true for the page with the database's header.
  /// - Returns: the gap between the cell pointers and the first cell, and the contents of free blocks; none of a page that
  ///   is no B-tree page, or whose header is damaged.
  static func ranges(of page: UnsafeRawBufferPointer, isFirst: Bool) -> [Range<Int>] {
    let header = isFirst ? StoreHeader.byteCount : 0
    guard page.count >= 512, let byteCount = headerByteCounts[page[header]] else { return [] }
    func number(_ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }
    let pointersEnd = header + byteCount + 2 * number(header + 3)
    // 0 means 65536.
    let content = number(header + 5) == 0 ? 1 << 16 : number(header + 5)
    guard pointersEnd <= content, content <= page.count else { return [] }
    var ranges = pointersEnd < content ? [pointersEnd..<content] : []
    var block = number(header + 1)
    while block != 0 {
      guard block >= content, block + 4 <= page.count else { return ranges }
      let (next, size) = (number(block), number(block + 2))
      guard size >= 4, block + size <= page.count else { return ranges }
      if size > 4 { ranges.append(block + 4..<block + size) }
      // Free blocks are in ascending order: a loop ends here.
      guard next == 0 || next > block else { return ranges }
      block = next
    }
    return ranges
  }
}
