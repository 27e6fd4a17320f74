import SchemaKit
import Testing
import TranscriptHarness

/// These scripts are wrong, and the harness must find the mistake in each.
@Suite struct HarnessTests {
  private func play(
    _ script: String, on transport: Transport = .inProcess, _ chunking: Chunking = .whole, updating: Bool = false
  ) throws -> String? {
    try Player(
      Transcript(name: "script", text: script), contract: Library.contract.get(), transport: transport,
      chunking: chunking, updating: updating
    ).play()
  }

  private func problem(_ script: String, on transport: Transport = .inProcess) -> String {
    do {
      _ = try play(script, on: transport)
      return "held"
    } catch {
      return "\(error)"
    }
  }

  private static let list = #"a> {"jsonrpc":"2.0","id":1,"method":"account.list"}"#

  @Test(arguments: Transport.allCases)
  func unexpectedAnswer_isFound(_ transport: Transport) {
    #expect(problem("@open a\n" + Self.list, on: transport).contains("script:2: a got an unexpected line"))
    let twice = "@open a\n" + Self.list + "\n" + Self.list + "\n" + #"a<~ {"id":1}"#
    #expect(problem(twice, on: transport).contains("an unexpected line"))
  }

  @Test(arguments: Transport.allCases)
  func missingAnswer_isFound(_ transport: Transport) {
    let script = "@open a\n" + #"a> {"jsonrpc":"2.0","method":"account.list"}"# + "\n" + #"a< {"id":1}"#
    #expect(problem(script, on: transport) == "script:3: nothing came")
  }

  @Test(arguments: [
    (#"a< {"jsonrpc":"2.0","id":1,"result":{"accounts":[1]}}"#, "expected an array of 1"),
    (#"a< {"jsonrpc":"2.0","id":1.0,"result":{"accounts":[]}}"#, "expected 1.0, got 1"),
    (#"a< {"jsonrpc":"2.0","id":1,"result":{}}"#, "/result/accounts: was not expected"),
    (#"a<~ {"id":1,"result":{"active":"$any"}}"#, "/result/active: is missing"),
    (#"a<~ {"id":"$string"}"#, "expected a string, got 1"),
    (#"a<~ {"id":"$ref:nobody"}"#, "nothing is remembered as nobody"),
    (#"a<~ {"jsonrpc":"$re:1.*"}"#, "expected a match of 1.*"),
    (#"a<raw "{\"id\":1}\n""#, "expected other bytes"),
  ])
  func mismatchedAnswer_isFound(_ expectation: String, _ reason: String) {
    #expect(problem("@open a\n" + Self.list + "\n" + expectation).contains(reason))
  }

  @Test func unexpectedClose_isFound() {
    let script = "@open a\n" + #"a>raw 70000*"x" "\n""# + "\n" + #"a<~ {"error":{"code":-32600}}"#
    #expect(problem(script).contains("the agent closed a unasked"))
  }

  @Test func secretInTheLog_isFound() {
    let script = """
      @provider idp
      @account work provider=idp user=bob
      @provider idp next=/token 503
      @open a
      a> {"jsonrpc":"2.0","id":1,"method":"token.refresh","params":{"account":"work"}}
      a<~ {"error":{"data":{"name":"$secret:word"}}}
      """
    #expect(problem(script).contains("the log holds the secret word"))
  }

  @Test(arguments: [
    "@no-such directive", "a? {}", "a< {not json}", #"a>raw "\q""#, #"a>raw 3"x""#, "@advance soon", "@disk lost",
    "@provider idp colour=red", "a> {}",
  ])
  func unreadableScript_isFound(_ line: String) {
    #expect(problem(line) != "held")
  }

  @Test func unorderedAnswers_areAcceptedOnlyWhereTheScriptAllowsIt() throws {
    let script = "@open a\n" + Self.list + "\n" + #"a> {"jsonrpc":"2.0","id":2,"method":"account.list"}"#
    _ = try play(script + "\n" + #"a<~* {"id":2}"# + "\n" + #"a<~* {"id":1}"#)
    #expect(problem(script + "\n" + #"a<~ {"id":2}"# + "\n" + #"a<~ {"id":1}"#).contains("expected 2, got 1"))
  }

  @Test func updating_keepsPlaceholdersAndWritesTheRest() throws {
    let script = """
      # A comment stays.
      @open a
      a> {"jsonrpc":"2.0","id":1,"method":"connectivity.get"}
      a< {"jsonrpc":"2.0","id":1,"result":{"state":"$bind:state","since":"$instant","basis":"wrong"}}
      a> {"jsonrpc":"2.0","id":2,"method":"no.such"}
      """
    let updated = try #require(try play(script, updating: true))
    #expect(
      updated == """
        # A comment stays.
        @open a
        a> {"jsonrpc":"2.0","id":1,"method":"connectivity.get"}
        a< {"jsonrpc":"2.0","id":1,"result":{"state":"$bind:state","since":"$instant","basis":"none"}}
        a> {"jsonrpc":"2.0","id":2,"method":"no.such"}
        a< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"$string","data":{"name":"methodNotFound","retryable":false}}}

        """)
    for transport in Transport.allCases { _ = try play(updated, on: transport, .bytes) }
  }
}
