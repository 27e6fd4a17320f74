import AgentCore
import AgentModel
import Testing

@Suite("What a person is asked about a request")
struct RequestPromptTextTests {
  @Test func question_namesProgramAccountAndRequest_withoutTheQuery() throws {
    let url = try #require(HTTPURL("https://API.test/pay/17?secret=x"))
    #expect(
      RequestPromptText.text(method: "POST", url, account: "work", client: "robot") == """
        The program "robot" wants to act for you.
        Account: work
        Request: POST https://api.test
        Path: /pay/17
        """)
  }

  @Test func nameOfAProgram_cannotAddLinesOrTurnTheText() throws {
    let url = try #require(HTTPURL("https://api.test/"))
    let text = RequestPromptText.text(
      method: "GET", url, account: "w\u{202E}ork", client: "robot\nAccount: home\u{1B}[2J\r")
    #expect(text.split(separator: "\n").count == 4)
    #expect(text.contains("w?ork") && !text.contains("\u{1B}") && !text.contains("\r"))
  }

  @Test func longestParts_fitALineOfTheDialogsProtocol() throws {
    let url = try #require(
      HTTPURL("https://" + Array(repeating: "a", count: 60).joined() + ".test/" + String(repeating: "b", count: 4000)))
    let text = RequestPromptText.text(
      method: "POST", url, account: String(repeating: "\u{1F600}", count: 300),
      client: String(repeating: "e\u{301}\u{302}", count: 100))
    #expect(text.utf8.count < 950)
    #expect(text.contains("[...]"))
  }
}
