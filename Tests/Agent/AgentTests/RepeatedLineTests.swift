import Testing

import AgentServing

@Suite struct RepeatedLineTests {
  private static let line = #"{"jsonrpc":"2.0","id":41,"method":"token.get","params":{"account":"work"}}"#

  /// Where the id stands in all these lines.
  private static let start = #"{"jsonrpc":"2.0","id":"#.utf8.count

  /// Remembers `first`, whose id is `id`, and returns the id that it finds in `next`.
  private func found(_ next: String, after first: String = line, id: String = "41") -> String? {
    var repeated = RepeatedLine()
    Array(first.utf8).withUnsafeBytes {
      repeated.remember($0, id: UnsafeRawBufferPointer(rebasing: $0[Self.start...].prefix(id.utf8.count)))
    }
    return Array(next.utf8).withUnsafeBytes { repeated.id(in: $0).map { String(decoding: $0, as: UTF8.self) } }
  }

  private func line(_ id: String) -> String { Self.line.replacing("41", with: id) }

  @Test(arguments: ["0", "1", "41", "42", "123456789012345678"])
  func anotherNumber_isFound(id: String) { #expect(found(line(id)) == id) }

  @Test(arguments: [
    "", "01", "-1", "1.5", "1e3", "4 1", #""41""#, "null", "1234567890123456789", "41,\"id\":42", " 41", "4\u{661}",
  ])
  func anythingElse_isNot(id: String) { #expect(found(line(id)) == nil) }

  @Test func anotherRequest_isNot() {
    #expect(found(Self.line.replacing("work", with: "home")) == nil)
    #expect(found(Self.line.replacing("token", with: "tokeN")) == nil)
    #expect(found(Self.line + " ") == nil)
    #expect(found(String(Self.line.dropLast())) == nil)
    #expect(found("") == nil && found("41") == nil)
  }

  /// The ids that are found in a batch after `line`.
  private func ids(_ batch: String) -> [String]? {
    var repeated = RepeatedLine()
    Array(Self.line.utf8).withUnsafeBytes {
      repeated.remember($0, id: UnsafeRawBufferPointer(rebasing: $0[Self.start...].prefix(2)))
    }
    return Array(batch.utf8).withUnsafeBytes { bytes in
      repeated.ids(inBatch: bytes)?.map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test func batchOfRepeatedRequests_isFound() {
    #expect(ids("[\(line("1"))]") == ["1"])
    #expect(ids("[\(line("1")),\(line("0")),\(line("123456"))]") == ["1", "0", "123456"])
  }

  @Test func anyOtherBatch_isNot() {
    let batch = "[\(line("1")),\(line("2"))]"
    for end in batch.utf8.indices.dropFirst() { #expect(ids(String(batch[..<end])) ?? [] == []) }
    #expect(ids("[]") == nil && ids("[,]") == nil && ids("[\(line("1")),]") == nil && ids(" \(batch)") == nil)
    #expect(ids("[\(line("1"))\(line("2"))]") == nil && ids("[\(line("1")), \(line("2"))]") == nil)
    #expect(ids("[\(line("1")),\(line("2").replacing("work", with: "home"))]") == nil)
    #expect(ids("[\(line("1")),\(line("02"))]") == nil && ids("[\(line("1"))}") == nil)
    #expect(ids("[[\(line("1"))]]") == nil && ids("[\(line("1"))]]") == nil && ids("[\(line("1"))],") == nil)
  }

  @Test func lineWithATextAsItsId_isNotRemembered() {
    let text = Self.line.replacing("41", with: #""a""#)
    #expect(found(text, after: text, id: #""a""#) == nil)
  }

  @Test func nothingIsRemembered_nothingIsFound() {
    let repeated = RepeatedLine()
    Array(Self.line.utf8).withUnsafeBytes { #expect(repeated.id(in: $0) == nil) }
  }

  @Test func forgottenLine_isNotFound() {
    var repeated = RepeatedLine()
    let bytes = Array(Self.line.utf8)
    bytes.withUnsafeBytes { repeated.remember($0, id: UnsafeRawBufferPointer(rebasing: $0[Self.start...].prefix(2))) }
    bytes.withUnsafeBytes { #expect(repeated.id(in: $0) != nil) }
    repeated.forget()
    bytes.withUnsafeBytes { #expect(repeated.id(in: $0) == nil) }
  }

  /// A longer line than there is room for does not leave the one before.
  @Test func longLine_isNotRemembered() {
    let long = Self.line.replacing("work", with: String(repeating: "w", count: 300))
    #expect(found(long.replacing("41", with: "42"), after: long) == nil)
  }
}
