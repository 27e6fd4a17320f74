internal import JSONRPC

/// Places in an output queue where shared bytes stand between the queue's own.
struct Inserts {
  private struct Entry {
    /// The number of the queue's own bytes before this piece, counted since `left` was 0.
    var position: Int
    var piece: SharedBytes
  }

  /// Stands for a piece that was written: the piece may hold a token, so that nothing keeps it.
  private static let written = SharedBytes("")

  private var entries: [Entry] = []
  private var first = 0
  /// The number of own bytes written since positions were counted from 0.
  private var left = 0
  /// The number of bytes of the first piece that were written.
  private var sent = 0
  /// Bytes of all pieces that wait.
  private(set) var count = 0

  var isEmpty: Bool { first == entries.count }

  /// Inserts `piece` after `waiting` own bytes that are queued.
  mutating func append(_ piece: SharedBytes, after waiting: Int) {
    guard piece.count > 0 else { return }
    entries.append(Entry(position: left + waiting, piece: piece))
    count += piece.count
  }

  /// Fills `target` with the next bytes of both kinds in order; returns how many.
  func fill(_ target: UnsafeMutableRawBufferPointer, own: UnsafeRawBufferPointer) -> Int {
    var filled = 0
    var taken = 0
    func copy(_ bytes: UnsafeRawBufferPointer) -> Int {
      let size = min(bytes.count, target.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: target[filled...]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[..<size]))
      filled += size
      return size
    }
    var skipped = sent
    for entry in entries[first...] {
      taken += copy(UnsafeRawBufferPointer(rebasing: own[taken..<entry.position - left]))
      _ = copy(UnsafeRawBufferPointer(rebasing: entry.piece.bytes[skipped...]))
      skipped = 0
      if filled == target.count { return filled }
    }
    _ = copy(UnsafeRawBufferPointer(rebasing: own[taken...]))
    return filled
  }

  /// Removes `written` bytes; returns how many of them were own ones, of `waiting`.
  mutating func consume(_ written: Int, own waiting: Int) -> Int {
    var rest = written
    var own = 0
    while first < entries.count, rest > 0 {
      let before = min(entries[first].position - left - own, rest)
      own += before
      rest -= before
      guard rest > 0 else { break }
      let of = min(entries[first].piece.count - sent, rest)
      rest -= of
      sent += of
      count -= of
      guard sent == entries[first].piece.count else { break }
      sent = 0
      entries[first].piece = Self.written
      first += 1
    }
    own += min(rest, waiting - own)
    left += own
    if isEmpty {
      self = Inserts()
    } else if first > 64, first > entries.count / 2 {
      entries.removeFirst(first)
      first = 0
    }
    return own
  }
}
