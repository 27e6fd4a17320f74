import AgentCore
import JSONRPC
import Testing

/// When two texts of a policy are one content.
@Suite struct PolicyContentTests {
  private func isSame(_ a: String, _ b: String) -> Bool {
    PolicyContent.isSame(RawJSON(stored: Array(a.utf8)), RawJSON(stored: Array(b.utf8)))
  }

  @Test func whiteSpaceEscapesAndMemberOrder_changeNothing() {
    #expect(isSame(#"{"a":1,"b":[true,"x"]}"#, #"{ "b" : [ true, "\u0078" ], "a" : 1 }"#))
  }

  @Test func anyOtherDifference_isAnotherContent() {
    for other in [#"{"a":2}"#, #"{"a":"1"}"#, #"{"a":1,"b":1}"#, #"{"b":1}"#, #"[{"a":1}]"#, "{}", "no JSON"] {
      #expect(!isSame(#"{"a":1}"#, other), "\(other)")
    }
    #expect(!isSame("[1,2]", "[2,1]"))
    #expect(!isSame("[1]", "[1,1]"))
  }
}
