import JSONRPC
import Testing

@Suite struct EnvelopeTests {
  /// An envelope as text: kind, id as sent, method, kind of params.
  static func reading(_ text: String) throws -> String {
    try withNode(text) { node in
      func shown(_ id: UnsafeRawBufferPointer?) -> String { id.map { String(decoding: $0, as: UTF8.self) } ?? "-" }
      switch Envelope(node) {
      case .request(let id, let method, let params):
        return "request \(shown(id)) \(method.string!) \(params.map { "\($0.kind)" } ?? "-")"
      case .invalid(let id): return "invalid \(shown(id))"
      }
    }
  }

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1 a -"),
    (#"{"jsonrpc":"2.0","id":1.0,"method":"a","params":{}}"#, "request 1.0 a object"),
    (
      #"{"params":[],"method":"a","id":123456789012345678901234567890,"jsonrpc":"2.0"}"#,
      "request 123456789012345678901234567890 a array"
    ),
    (#"{"jsonrpc":"2.0","id":"x\u0041","method":"a"}"#, #"request "x\u0041" a -"#),
    (#"{"jsonrpc":"2.0","id":"","method":"a"}"#, #"request "" a -"#),
    (#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "request null a -"),
    (#"{"jsonrpc":"2.0","id":-1e3,"method":"a"}"#, "request -1e3 a -"),
    (#"{"jsonrpc":"2.0","method":"a"}"#, "request - a -"),
    (#"{"jsonrpc":"2.0","id":1,"method":""}"#, "request 1  -"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","more":1}"#, "request 1 a -"),
    (#"{"json\u0072pc":"2\u002e0","\u0069d":1,"method":"\u0061"}"#, "request 1 a -"),
  ])
  func wellFormedRequest_isAccepted(text: String, reading: String) throws { #expect(try Self.reading(text) == reading) }

  @Test(arguments: [
    ("1", "invalid -"), ("\"x\"", "invalid -"), ("null", "invalid -"), ("true", "invalid -"), ("[]", "invalid -"),
    ("[1]", "invalid -"), ("{}", "invalid -"),
    (#"{"id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":2.0,"id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":"2.00","id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":null,"id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":1}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":null}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":["a"]}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":1}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":true}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "invalid -"),
    (#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "invalid -"),
    (#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, "invalid -"),
    (#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "invalid 1"),
    // keys named twice, at any depth: the id is returned if it was read once
    (#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"a"}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"y":[{"x":1,"\u0078":2}]}}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"method":"a","more":{"x":1,"x":2}}"#, "invalid 1"),
    (#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}"#, "invalid -"),
    (#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"a"}"#, "invalid -"),
    (#"{"jsonrpc":"2.0","id":null,"method":1}"#, "invalid null"),
  ])
  func malformedRequest_isInvalid(text: String, reading: String) throws { #expect(try Self.reading(text) == reading) }

  @Test func batchMembers_areJudgedSeparately() throws {
    let batch = #"[{"jsonrpc":"2.0","id":1,"method":"a","x":{"k":1,"k":2}},{"jsonrpc":"2.0","id":2,"method":"b"}]"#
    try withNode(batch) { node in
      let valid = node.elements.map { element in
        if case .request = Envelope(element) { true } else { false }
      }
      #expect(valid == [false, true])
    }
  }

  // MARK: the beginning of a line

  static func method(_ text: String) -> String? {
    try? [UInt8](text.utf8).withUnsafeBytes { try Envelope.method(ofPrefix: $0) }
  }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":1,"method":"secret.put","params":{"value":"aaaa"#,
    #"{"method":"secret.put""#, #"{"method":"secret.put","x":"#, #" { "method" : "secret.put" , "#,
    #"{"params":{"method":"no"},"method":"secret.put","#, #"{"x":[],"y":{},"method":"secret.put""#,
    #"{"x":[[{}]],"\u006dethod":"secret.p\u0075t""#, #"{"method":"secret.put"}"#,
    #"{"method":"secret.put","method":"token.get""#,
    // The line is no request, but its length is judged by its method.
    #"{"method":"secret.put",01"#, #"{"method":"secret.put"}}"#, #"{"method":"secret.put","x":"\ud800""#,
    #"{"method":"secret.put","x":"# + String(repeating: "[", count: 70),
  ])
  func method_isFoundInAPartialLine(text: String) { #expect(Self.method(text) == "secret.put") }

  /// A line that can become no request fails before its end.
  @Test(arguments: [
    "", " ", "  \t", "1", "12", "\"", "\"aaaa", "x", "tru", "null", "{}", #"{"a":1}"#, "{x", "[1,]", #"{"a":1}}"#,
    #"{01,"method":"secret.put""#, #"[{"method":"secret.put"},]"#, #"{"a":"\x"#, "\u{FEFF}{",
  ])
  func partialLineThatCanBecomeNoRequest_fails(text: String) {
    #expect(throws: JSONScanner.Failure.self) {
      try [UInt8](text.utf8).withUnsafeBytes { try Envelope.method(ofPrefix: $0) }
    }
  }

  @Test(arguments: ["{", "[", "[1", #"[{"method":"no"},"#, "[]", #"{"method":"a"#, #"{"a":{"#])
  func partialLineThatMayBecomeARequest_isWaitedFor(text: String) throws {
    #expect(try [UInt8](text.utf8).withUnsafeBytes { try Envelope.method(ofPrefix: $0) } == nil)
  }

  @Test(arguments: [
    "", " ", "{", "[", "1", "x", #"{"meth"#, #"{"method"#, #"{"method""#, #"{"method":"#, #"{"method":"secret.pu"#,
    #"{"method":"secret.put\"#, #"{"params":{"method":"no","#, #"{"params":["method","no","#,
    #"{"params":{"a":{"method":"no"},"#, #"[{"method":"no"},"#, #"{"method":1,"#, #"{"method":{},"#, #""method":"no"}"#,
    #"{"params":[{"method":"no"},{"method":"no""#,
  ])
  func methodInsideAnotherMember_isNotFound(text: String) { #expect(Self.method(text) == nil) }

  @Test func everyPrefixOfARequest_namesTheMethodOrNone() {
    let text = #"{"params":{"a":[1,{"method":"no"}],"b":"method"},"id":"method","method":"yes","z":[{"method":"no"}]}"#
    let bytes = [UInt8](text.utf8)
    let stands = text.utf8.count - #","z":[{"method":"no"}]}"#.utf8.count
    for count in 0...bytes.count {
      let found = try? bytes[..<count].withUnsafeBytes { try Envelope.method(ofPrefix: $0) }
      #expect(found == (count >= stands ? "yes" : nil), "\(count) bytes")
    }
  }
}
