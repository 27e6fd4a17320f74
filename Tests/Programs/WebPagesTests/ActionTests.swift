import AgentModel
import JSONRPC
import Testing
import WebPages

/// What forms ask the agent for, and what the person is told then.
struct ActionTests {
  @Test(
    "A form becomes one call",
    arguments: [
      ("lock", [:], "agent.lock", [:]), ("unlock", [:], "agent.unlock", [:]),
      ("switch-account", ["account": "a"], "account.switch", ["account": "a"]),
      ("check-account", ["account": "a"], "snapshot.refresh", ["account": "a"]),
      ("sign-in", ["provider": "idp"], "signIn.begin", ["provider": "idp", "flow": "browser"]),
      (
        "sign-in", ["provider": "idp", "flow": "device", "alias": "work", "account": ""], "signIn.begin",
        ["provider": "idp", "flow": "device", "alias": "work"]
      ),
      (
        "add-key",
        ["provider": "hosting", "secret": " k&=+% ", "username": "", "alias": "ci", "expires": "2030-06-30"],
        "account.add",
        ["provider": "hosting", "secret": " k&=+% ", "alias": "ci", "expiresAt": "2030-06-30T00:00:00.000Z"]
      ),
      ("sign-out", ["account": "a", "mode": "hard"], "account.signOut", ["account": "a", "mode": "hard"]),
      (
        "decide-approval", ["approval": "p", "verdict": "session"], "approval.decide",
        ["approval": "p", "verdict": "session"]
      ),
      (
        "decide-access", ["request": "r", "verdict": "allow", "expiresInSeconds": "3600"], "access.decide",
        ["request": "r", "verdict": "allow", "expiresInSeconds": 3600]
      ),
      (
        "decide-access", ["request": "r", "verdict": "deny", "expiresInSeconds": "3600"], "access.decide",
        ["request": "r", "verdict": "deny"]
      ),
      ("revoke-grant", ["grant": "g"], "grant.revoke", ["grant": "g"]),
      (
        "create-grant",
        [
          "client": "claude", "account.b": "on", "account.a": "on", "can.requests": "on", "can.unknown": "on",
          "origins": "https://one.example\r\n https://two.example ", "expiresInSeconds": "", "agent": "on",
          "token": "t",
        ], "grant.create",
        [
          "client": "claude", "accounts": ["a", "b"], "methods": ["request.send", "account.resolve"],
          "origins": ["https://one.example", "https://two.example"], "agent": true,
        ]
      ),
      ("retry-operation", ["account": "a", "operation": "o"], "operation.retry", ["account": "a", "operation": "o"]),
      (
        "cancel-operation", ["account": "a", "operation": "o"], "operation.cancel", ["account": "a", "operation": "o"]
      ),
      ("retry-revocation", ["revocation": "r"], "revocation.retry", ["revocation": "r"]),
      ("abandon-revocation", ["revocation": "r"], "revocation.abandon", ["revocation": "r"]),
    ] as [(String, [String: String], String, JSONValue)])
  func call(_ name: String, _ form: [String: String], _ method: String, _ params: JSONValue) throws {
    let calls = try #require(WebAction.named(name)).calls(form)
    #expect(calls.map(\.method) == [method])
    #expect(calls.map(\.params) == [params])
  }

  @Test(
    "A form that lacks something asks the agent for nothing, and says what it lacks",
    arguments: [
      ("switch-account", [:]), ("switch-account", ["account": ""]), ("sign-in", ["flow": "browser"]),
      ("add-key", ["provider": "hosting"]), ("add-key", ["provider": "p", "secret": "s", "expires": "2030-02-31"]),
      ("sign-in", ["provider": "idp", "flow": "paste"]), ("sign-out", ["account": "a"]),
      ("sign-out", ["account": "a", "mode": "offline"]), ("decide-approval", ["approval": "p"]),
      ("decide-approval", ["approval": "p", "verdict": "always"]),
      ("decide-access", ["request": "r", "verdict": "once"]),
      ("decide-access", ["request": "r", "verdict": "allow", "expiresInSeconds": "-1"]),
      ("decide-access", ["request": "r", "verdict": "allow", "expiresInSeconds": "99999999999"]),
      ("create-grant", ["client": "c", "can.tokens": "on"]), ("create-grant", ["client": "c", "account.a": "on"]),
      ("create-grant", ["account.a": "on", "can.tokens": "on"]), ("retry-operation", ["operation": "o"]),
      ("abandon-revocation", [:]),
    ] as [(String, [String: String])])
  func problem(_ name: String, _ form: [String: String]) throws {
    let action = try #require(WebAction.named(name))
    #expect(throws: FormProblem.self) { try action.calls(form) }
  }

  @Test("The vault is opened without the person, and by the passphrase where only that opens it")
  func unlock() throws {
    func alternative(_ name: String, _ code: Int?) throws -> AgentQuestion? {
      var answers = AgentAnswers()
      if let code {
        answers.set("done", failureCode: code, message: "refused")
      } else {
        answers.set("done", result: ["locked": false])
      }
      return try #require(WebAction.named(name)).alternative(answers)
    }
    #expect(try alternative("unlock", nil) == nil)
    #expect(try alternative("unlock", -32602)?.params == ["prompt": "pinentry"])
    #expect(try alternative("unlock", -32602)?.method == "agent.unlock")
    #expect(try alternative("unlock", 1005) == nil)
    #expect(try alternative("lock", -32602) == nil)
  }

  @Test("What came of it is told: the result in words, else the agent's own")
  func notices() throws {
    func notice(_ name: String, _ result: JSONValue) throws -> String {
      var answers = AgentAnswers()
      answers.set("done", result: result)
      return try #require(WebAction.named(name)).notice(answers)
    }
    #expect(
      try notice("sign-out", ["data": "sealed", "revocation": "queued"])
        == "Signed out. Its data stays here, sealed until the same person signs in again. Its tokens are revoked once the provider can be reached: see Waiting."
    )
    #expect(
      try notice("sign-in", ["userCode": "BDWP-HQPK", "verificationUri": "https://idp.example/device"])
        .contains("enter the code BDWP-HQPK"))
    #expect(try notice("decide-approval", ["verdict": "once"]) == "Allowed, this once.")
    let requests: JSONValue = ["client": "my bot; id", "grant": "grt_1", "methods": ["request.send", "account.get"]]
    #expect(try notice("create-grant", requests).hasSuffix("`lanyard sandbox --grant grt_1 -- COMMAND`"))
    // A proxy has no use of these.
    let methods = GrantAbility.methods(of: [.status, .operations, .decisions])
    let status: JSONValue = ["client": "bot", "grant": "grt_2", "methods": .array(methods.map { .string($0) })]
    #expect(!(try notice("create-grant", status).contains("sandbox")))
    #expect(try notice("retry-revocation", ["revocations": []]) == "The token is revoked.")
    var failed = AgentAnswers()
    failed.set("done", failureCode: 6003, message: "There is no such request.")
    let action = try #require(WebAction.named("decide-approval"))
    #expect(action.notice(failed) == "There is no such request.")
    #expect(action.notice(AgentAnswers()).contains("did not answer"))
  }

  @Test("An unknown action is none", arguments: ["", "lock/", "agent.lock", "token.get"])
  func unknown(_ name: String) { #expect(WebAction.named(name) == nil) }
}
