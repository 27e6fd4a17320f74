import AgentCore
import AgentModel
import AgentPorts
internal import AgentRecords
import Secrets
import Testing

/// What is stored of operations, and the ids that name them (docs/operations.md, Storage).
@Suite struct OperationRecordTests {
  private func answer(_ body: [UInt8]) throws -> OperationAnswer {
    let fields = try #require(ResponseFields([]))
    return OperationAnswer(
      ResourceResponse(
        status: 200, fields: fields, body: body.withUnsafeBytes { Secret(copying: $0) }, attempts: 1, isRefreshed: false
      ))
  }

  private func bytes(_ secret: Secret?) -> [UInt8]? { secret?.withBytes { [UInt8]($0) } }

  @Test("an answer is cut to the room that is left, at the end of a character, and keeps its status")
  func cutting() throws {
    let whole = try answer(Array(String(repeating: "é", count: 50).utf8))
    #expect(!whole.isTruncated)
    for room in [-5, 0, 64, 70, 100, 150] {
      let fitting = whole.fitting(room)
      #expect(fitting.status == 200)
      #expect(fitting.isTruncated)
      #expect(fitting.record.count <= max(room, 64))
      let text = fitting.body.withBytes { String(validating: $0, as: UTF8.self) }
      #expect(text.map { $0.allSatisfy { $0 == "é" } } == true)
    }
    #expect(!whole.fitting(whole.record.count + 64).isTruncated)
    let long = try answer([UInt8](repeating: 0x61, count: OperationAnswer.mostBytes + 1))
    #expect(long.isTruncated)
    #expect(long.body.count == OperationAnswer.mostBytes)
  }

  @Test("an answer and a content are read as they were written", arguments: [[], [0x61], [0, 0xFF, 0x80, 0x0D]])
  func records(body: [UInt8]) throws {
    let read = try #require(OperationAnswer(try answer(body).record))
    #expect(bytes(read.body) == body)
    let given = body.withUnsafeBytes { Secret(copying: $0) }
    let request = OperationContent.Request(
      method: "POST", url: "https://api.example/", fields: try RequestFields([("x", "1")], idempotencyKey: "k"),
      body: given, isText: false)
    let content = try #require(
      OperationContent(OperationContent(request: request, payload: Secret(text: #"{"n":1}"#)).record))
    #expect(bytes(content.request?.body) == body)
    #expect(content.request?.isText == false)
    // The operation has the key, beside its content.
    #expect(content.request?.fields.all.map(\.name) == ["x"])
    #expect(bytes(content.payload) == Array(#"{"n":1}"#.utf8))
  }

  @Test("fields that may not be sent are not read")
  func unsoundFields() {
    func content(_ field: String) -> OperationContent? {
      OperationContent(Secret(text: #"{"method":"PUT","url":"https://a/","headers":["\#(field)","1"]}"#))
    }
    #expect(content("X-Note")?.request != nil)
    #expect(content("Authorization") == nil)
  }

  @Test("a body that can't be read is not taken for no body")
  func unreadableBody() {
    func content(_ bytes: String) -> OperationContent? {
      OperationContent(Secret(text: #"{"method":"PUT","url":"https://a/","headers":[],"bytes":"\#(bytes)"}"#))
    }
    #expect(bytes(content("-_8")?.request?.body) == [0xFB, 0xFF])
    #expect(content("?") == nil)
  }

  @Test("the id of an operation names its place to its own account alone")
  func names() throws {
    let mine = try #require(PartitionID(bytes: [UInt8](repeating: 1, count: 16)))
    let other = try #require(PartitionID(bytes: [UInt8](repeating: 2, count: 16)))
    for sequence in [Int64(1), 255, 70_000, 1 << 40] {
      let name = OperationName.text(OperationName.id(at: sequence, of: mine, random: [9, 9, 9, 9]))
      #expect(OperationName.sequence(in: name, of: mine) == sequence)
      #expect(OperationName.sequence(in: name, of: other) == nil)
      #expect(OperationName.sequence(in: String(name.dropLast()), of: mine) == nil)
      #expect(OperationName.sequence(in: String(name.dropFirst(3)), of: mine) == nil)
    }
    #expect(OperationName.sequence(in: "op_", of: mine) == nil)
  }
}
