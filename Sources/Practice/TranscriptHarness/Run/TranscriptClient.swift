/// One client, and its received lines that were not expected yet.
final class TranscriptClient {
  let wire: any Wire
  var sent = 0
  var got = 0
  var partial: [UInt8] = []
  var lines: [[UInt8]] = []
  var isHalfClosed = false
  var isClosed = false
  var closeWasExpected = false
  init(_ wire: any Wire) { self.wire = wire }

  func close() {
    isClosed = true
    wire.close()
  }

  /// Reads what has arrived, and splits it into lines.
  func read() {
    guard !isClosed else { return }
    let bytes = wire.receive()
    got += bytes.count
    guard !bytes.isEmpty else { return }
    partial += bytes
    var rest = partial[...]
    while let end = rest.firstIndex(of: 0x0A) {
      lines.append(Array(rest[..<end]))
      rest = rest[(end + 1)...]
    }
    partial = Array(rest)
  }

  var hasTakenAll: Bool {
    guard let counts = wire.tap?.counts else { return true }
    if counts.isClosing || counts.isOver { return true }
    return counts.taken == sent && (!isHalfClosed || counts.hasSeenEnd)
  }

  var hasReceivedAll: Bool {
    guard let counts = wire.tap?.counts else { return wire.hasEnded }
    return counts.given == got && (!counts.isClosing || wire.hasEnded)
  }
}
