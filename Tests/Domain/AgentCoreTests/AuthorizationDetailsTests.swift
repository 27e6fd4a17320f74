import JSONRPC
import Testing

import AgentCore

/// Rights in detail (RFC 9396 §2).
@Suite struct AuthorizationDetailsTests {
  private static func problem(_ text: String, atMost bytes: Int = 4096) -> AuthorizationDetails.Problem? {
    do throws(AuthorizationDetails.Problem) {
      _ = try AuthorizationDetails(parsing: text, atMost: bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test func spacesBetweenTokensMakeNoDifference() throws {
    let one = try AuthorizationDetails(
      parsing: "[ {\"type\" : \"a b\",\n \"n\":[1.50, true ,null,\"x \\u00e9\"]} ]", atMost: 4096)
    let other = try AuthorizationDetails(
      parsing: #"[{"type":"a b","n":[1.50,true,null,"x \#("\\")u00e9"]}]"#, atMost: 4096)
    #expect(one == other)
    #expect(one.text == #"[{"type":"a b","n":[1.50,true,null,"x \u00e9"]}]"#)
    #expect(one.types == ["a b"])
  }

  @Test func memberOrderMakesADifference() throws {
    let one = try AuthorizationDetails(parsing: #"[{"type":"a","n":1}]"#, atMost: 4096)
    let other = try AuthorizationDetails(parsing: #"[{"n":1,"type":"a"}]"#, atMost: 4096)
    #expect(one != other)
  }

  @Test func onlyArraysOfObjectsWithATypeAreRead() {
    #expect(Self.problem("") == .malformed)
    #expect(Self.problem("{}") == .malformed)
    #expect(Self.problem(#"[{"type":"a","type":"b"}]"#) == .malformed)
    #expect(Self.problem(#"[{"type":"a","n":{"x":1,"x":2}}]"#) == .malformed)
    #expect(Self.problem(#"[{"type":"a"},"b"]"#) == .withoutType(index: 1))
    #expect(Self.problem(#"[{"type":"a"},{"type":1}]"#) == .withoutType(index: 1))
    #expect(Self.problem(#"[{"type":""}]"#) == .withoutType(index: 0))
    #expect(Self.problem(#"[{"type":"\#(String(repeating: "t", count: 257))"}]"#) == .withoutType(index: 0))
    #expect(Self.problem("[]") == nil)
  }

  @Test func sizeIsBounded() {
    let objects = { (count: Int) in "[" + Array(repeating: #"{"type":"a"}"#, count: count).joined(separator: ", ") + "]"
    }
    #expect(Self.problem(objects(64)) == nil)
    #expect(Self.problem(objects(65)) == .tooMany)
    let padded = { (count: Int) in #"[{"type":"a","n":"\#(String(repeating: "x", count: count))"}]"# }
    let frame = padded(0).utf8.count
    #expect(Self.problem(padded(4096 - frame)) == nil)
    #expect(Self.problem(padded(4096 - frame + 1)) == .tooLong)
    #expect(Self.problem("  " + padded(4096 - frame) + "  ") == nil)
  }

  @Test func nestingIsBounded() {
    let nested = { (levels: Int) in
      #"[{"type":"a","n":"# + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}]"
    }
    #expect(Self.problem(nested(14)) == nil)
    #expect(Self.problem(nested(15)) == .tooDeep)
  }

  @Test func firstUnsupportedTypeIsFound() throws {
    let details = try AuthorizationDetails(parsing: #"[{"type":"a"},{"type":"b"},{"type":"A"}]"#, atMost: 4096)
    #expect(details.firstUnsupported(by: ["a", "b", "A"]) == nil)
    #expect(details.firstUnsupported(by: ["a", "b"]) == 2)
  }

  @Test func eachObjectIsLentAsWritten() throws {
    let details = try AuthorizationDetails(parsing: #"[{"type":"a", "n":1e2},{"type":"b"}]"#, atMost: 4096)
    var objects: [String] = []
    details.forEachObject { objects.append(String(decoding: $0.raw, as: UTF8.self)) }
    #expect(objects == [#"{"type":"a","n":1e2}"#, #"{"type":"b"}"#])
  }
}
