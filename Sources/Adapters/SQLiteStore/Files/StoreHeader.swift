internal import Glibc

/// The first bytes of every database of this agent (SQLite's file format, 1.3 "The Database Header").
package struct StoreHeader {
  /// `LNYD`: a database of another program has another application id and is not opened.
  package static let applicationID: Int64 = 0x4c4e_5944

  static let byteCount = 100

  private let bytes: [UInt8]

  /// Nil for a file that is no database of this agent.
  init?(of file: Int32) {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    guard pread(file, &bytes, bytes.count, 0) == bytes.count else { return nil }
    self.init(bytes)
  }

  /// Nil for the first bytes of another file.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else { return nil }
    self.bytes = bytes
    guard number(at: 68) == Self.applicationID else { return nil }
  }

  /// False for a file of this size that has bytes behind its last page: SQLite does not read them. One that is too short
  /// SQLite finds by itself.
  func isEnd(_ size: Int) -> Bool {
    // 1 stands for pages of 64 KiB. The number of pages counts for one number of changes (1.3.7).
    let pageBytes = number(at: 16, 2) == 1 ? 65_536 : number(at: 16, 2)
    return number(at: 24) == number(at: 92) && Int64(size) <= pageBytes * number(at: 28)
  }

  private func number(at place: Int, _ count: Int = 4) -> Int64 {
    bytes[place..<(place + count)].reduce(0) { $0 << 8 | Int64($1) }
  }
}
