import JSONRPC
import Testing

/// Where a file stops being JSON, as an editor counts.
@Suite struct PositionTests {
  @Test(arguments: [
    ("{\n  \"a\": 1,\n}", 3, 1), ("[1,\n 01]", 2, 3), ("{\"wörk\": x}", 1, 10), ("", 1, 1), ("{\n\"a\": 1", 2, 7),
    ("{} {}", 1, 4), ("{\n\"a\": tru\n}", 2, 9),
  ])
  func textThatIsNoJSON_isLocated(text: String, line: Int, column: Int) {
    let position = Array(text.utf8).withUnsafeBytes { JSONTextPosition(ofErrorIn: $0) }
    #expect(position?.line == line && position?.column == column, "\(text): \(String(describing: position))")
  }

  @Test func validJSON_hasNoErrorPosition() {
    let position = Array(#" {"a":[1,2]} "#.utf8).withUnsafeBytes { JSONTextPosition(ofErrorIn: $0) }
    #expect(position == nil)
  }
}
