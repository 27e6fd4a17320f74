import AgentCore
import AgentModel
import AgentPorts
import Secrets
import Testing

@testable import Agent

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
      method: "POST", url: "https://api.example/", headers: [("x", "1")], body: given, isText: false)
    let content = try #require(
      OperationContent(OperationContent(request: request, payload: Secret(text: #"{"n":1}"#)).record))
    #expect(bytes(content.request?.body) == body)
    #expect(content.request?.isText == false)
    #expect(bytes(content.payload) == Array(#"{"n":1}"#.utf8))
  }

  @Test("bytes in the form of an earlier version are read, and none that can't be read is taken for no body")
  func earlierForm() throws {
    func content(_ member: String) -> OperationContent? {
      OperationContent(Secret(text: #"{"method":"PUT","url":"https://a/","headers":[],\#(member)}"#))
    }
    let old = try #require(content(#""bodyBase64":"+/8=""#))
    #expect(bytes(old.request?.body) == [0xFB, 0xFF])
    #expect(old.request?.isText == false)
    #expect(content(#""bodyBase64":"?""#) == nil)
    #expect(content(#""bytes":"?""#) == nil)
  }

  @Test("a content is compared by its members, whatever form it was stored in")
  func sameContent() throws {
    func content(
      _ body: String? = "a", isText: Bool = true, url: String = "https://a/", header: String = "1",
      payload: String? = nil
    ) -> OperationContent {
      OperationContent(
        request: OperationContent.Request(
          method: "PUT", url: url, headers: [("x", header)], body: body.map { Secret(text: $0) }, isText: isText),
        payload: payload.map { Secret(text: $0) })
    }
    let old = try #require(
      OperationContent(Secret(text: #"{"method":"PUT","url":"https://a/","headers":["x","1"],"bodyBase64":"YQ=="}"#)))
    #expect(old.isSame(as: content(isText: false)))
    #expect(content().isSame(as: content()))
    #expect(content(payload: "1").isSame(as: content(payload: "1")))
    for other in [
      content("b"), content(nil), content(isText: false), content(url: "https://b/"), content(header: "2"),
      content(payload: "1"), OperationContent(request: nil, payload: nil),
    ] {
      #expect(!content().isSame(as: other))
      #expect(!other.isSame(as: content()))
    }
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
