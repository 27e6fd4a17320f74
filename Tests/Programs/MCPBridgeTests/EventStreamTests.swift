import MCPBridge
import Testing

/// `EventStream`, in pieces of every size.
@Suite struct EventStreamTests {
  @Test(arguments: [1, 2, 3, 7, 4096])
  func eventsAreTheSameInPiecesOfAnySize(size: Int) {
    let text =
      "\u{FEFF}: a comment\r\n\r\nid: 1\r\nretry: 250\r\ndata:\r\n\r\ndata: {\"a\":1}\n\nevent: x\rdata: one\rdata:two\r\rid\ndata: 世界\nunknown: y\n\ndata: cut"
    var stream = EventStream()
    var events: [EventStream.Event] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { piece in
        let goesOn = stream.push(piece) { event in
          events.append(event)
          return true
        }
        #expect(goesOn)
      }
    }
    #expect(events.map { String(decoding: $0.data, as: UTF8.self) } == ["{\"a\":1}", "one\ntwo", "世界"])
    #expect(events.map(\.type) == ["message", "x", "message"])
    #expect(stream.retryMilliseconds == 250)
    #expect(stream.lastEventID == nil)
  }
  @Test(arguments: [(4_096, true), (4_097, false)])
  func anIDThatIsTooLongForAField_countsAsNone(length: Int, isKept: Bool) {
    let id = String(repeating: "i", count: length)
    var stream = EventStream()
    let bytes = Array("id: 1\ndata: a\n\nid: \(id)\ndata: b\n\n".utf8)
    #expect(bytes.withUnsafeBytes { stream.push($0) { _ in true } })
    #expect(stream.lastEventID == (isKept ? id : nil))
  }
}
