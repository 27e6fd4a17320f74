import AgentCore
import AgentModel
import Testing

@Suite("What a person is asked about a request")
struct RequestPromptTextTests {
  @Test func question_namesProgramAccountAndTheWholeRequest() throws {
    let url = try #require(HTTPURL("https://API.test/pay/17?to=mallory&amount=9"))
    #expect(
      RequestPromptText.text(method: "POST", url, account: "work", client: "robot") == """
        The program "robot" wants to act for you.
        Account: work
        Request: POST https://api.test
        Path: /pay/17
        Query: to=mallory&amount=9
        """)
  }

  @Test func nameOfAProgram_cannotAddLinesOrTurnTheText() throws {
    let url = try #require(HTTPURL("https://api.test/"))
    let text = RequestPromptText.text(
      method: "GET", url, account: "w\u{202E}ork", client: "robot\nAccount: home\u{1B}[2J\r")
    #expect(text.split(separator: "\n").count == 4)
    #expect(text.contains("w?ork") && !text.contains("\u{1B}") && !text.contains("\r"))
  }

  @Test(arguments: [
    "\u{200B}", "\u{202E}", "\u{2066}", "\u{061C}", "\u{2028}", "\u{00AD}", "\u{180E}", "\u{FEFF}", "\u{3164}",
    "\u{115F}", "\u{FE0F}", "\u{E0041}", "\u{85}", "\u{E000}", "\u{034F}",
  ])
  func hiddenCharacter_isShownAsAnother(hidden: String) throws {
    let url = try #require(HTTPURL("https://api.test/"))
    let text = RequestPromptText.text(method: "GET", url, account: "w\(hidden)ork", client: nil)
    #expect(text.contains("Account: w?ork"))
    #expect(DisplayName.shown("a\(hidden)b".utf8) == "a?b")
  }

  @Test func longPathAndQuery_showBothEnds_andSayHowMuchIsLeftOut() throws {
    let letters = String(repeating: "b", count: 2000)
    let url = try #require(HTTPURL("https://api.test/first\(letters)last?one=1&\(letters)&two=2"))
    let lines = RequestPromptText.text(method: "POST", url, account: "work", client: "robot").split(separator: "\n")
    #expect(lines.count == 5)
    #expect(lines[3].hasPrefix("Path: /firstbbb") && lines[3].hasSuffix("bbblast"))
    #expect(lines[4].hasPrefix("Query: one=1&bbb") && lines[4].hasSuffix("bbb&two=2"))
    for line in lines[3...] {
      let mark = #/ \[\.\.\. \d+ characters left out \.\.\.\] /#
      let shown = line.split(separator: " ", maxSplits: 1)[1].replacing(mark, with: "")
      let left = try #require(try /\[\.\.\. (\d+) characters/.firstMatch(in: line)?.1)
      let whole = line.hasPrefix("Path") ? url.path : try #require(url.query)
      #expect(shown.count + Int(left)! == whole.count)
    }
  }

  @Test func shortQuery_leavesTheRoomToThePath() throws {
    let path = "/" + String(repeating: "p", count: 700)
    let url = try #require(HTTPURL("https://api.test\(path)?a=b"))
    let text = RequestPromptText.text(method: "GET", url, account: "work", client: nil)
    #expect(text.hasSuffix("Path: \(path)\nQuery: a=b"))
  }

  @Test func longestParts_fitALineOfTheDialogsProtocol() throws {
    for part in [String(repeating: "b", count: 4000), String(repeating: "%C3%A9", count: 600)] {
      let url = try #require(
        HTTPURL("https://" + String(repeating: "a", count: 60) + ".test/" + part + "?" + part))
      let text = RequestPromptText.text(
        method: "POST", url, account: String(repeating: "\u{1F600}", count: 300),
        client: String(repeating: "e\u{301}\u{302}", count: 100))
      let escaped = text.replacing("%", with: "%25").replacing("\n", with: "%0A")
      #expect(escaped.utf8.count <= 960)
      #expect(text.contains("characters left out"))
    }
  }
}
