import SchemaKit
import Testing

/// Each kind of change that would break a client is found; additions are accepted.
struct CompatibilityTests {
  struct Change: CustomTestStringConvertible {
    var testDescription: String
    var path: String
    /// JSON Pointers with the JSON to put there; nil removes.
    var edits: [(pointer: String, value: String?)]

    init(_ name: String, _ path: String, _ pointer: String, _ value: String?, also edits: (String, String?)...) {
      testDescription = name
      self.path = path
      self.edits = [(pointer, value)] + edits.map { (pointer: $0.0, value: $0.1) }
    }

    func contract() throws -> Contract {
      let edits = try edits.map { ($0.pointer, try $0.value.map { try JSONValue(parsing: $0) }) }
      return try RepositoryFixture.contract(changing: path) { document in
        for (pointer, value) in edits { document[at: pointer] = value }
      }
    }
  }

  static let breaking = [
    Change("a param is gone", "methods/signIn.begin.json", "/params/properties/openBrowser", nil),
    Change(
      "a new param is required", "methods/provider.list.json", "/params",
      #"{"type":"object","additionalProperties":false,"required":["all"],"properties":{"all":{"type":"boolean"}}}"#,
      also: ("/examples/0/params", #"{"all":true}"#)),
    Change(
      "an optional param is required", "methods/audit.verify.json", "/params/required", #"["account"]"#,
      also: ("/examples/0/params", #"{"account":"work"}"#)),
    Change(
      "a param has another type", "methods/signIn.begin.json", "/params/properties/openBrowser",
      #"{"type":"string","maxLength":9}"#),
    Change(
      "a param has a narrower bound", "methods/signIn.wait.json", "/params/properties/timeoutSeconds/maximum", "3599"),
    Change("a param has a shorter length", "types/accountSelector.json", "/maxLength", "127"),
    Change("a param has another pattern", "types/capability.json", "/pattern", #""^[A-Za-z0-9._:-]{1,128}$""#),
    Change("a word of a param is gone", "types/signOutMode.json", "/enum/offline", nil),
    Change("a word of a result is gone", "types/tokenSource.json", "/enum/staleOk", nil),
    Change("a default changed", "types/tokenRequest.json", "/properties/minimumLifetimeSeconds/default", "30"),
    Change(
      "members exclude each other", "methods/account.resolve.json", "/params/not",
      #"{"required":["selector","issuer"]}"#),
    Change("fewer items may be sent", "methods/grant.create.json", "/params/properties/accounts/maxItems", "1"),
    Change("a result's member is gone", "types/session.json", "/properties/deviceKeyId", nil),
    Change("a result's member is optional", "types/agentIdentity.json", "/required", #"["name"]"#),
    Change(
      "a result's member has another type", "types/session.json", "/properties/deviceKeyId", #"{"type":"boolean"}"#),
    Change("a secret is a secret no more", "types/pin.json", "/x-secret", nil),
    Change("a method is ordered no more", "methods/event.subscribe.json", "/ordering", #""concurrent""#),
    Change("a method is idempotent no more", "methods/token.get.json", "/idempotent", "false"),
    Change("a method may carry no body", "methods/secret.put.json", "/carriesBody", "false"),
    Change("a method changed its feature", "methods/token.get.json", "/feature", #""tokens""#),
    Change("an event's data is gone", "events/account.renamed.json", "/data/properties/previous", nil),
    Change("an error has another code", "errors.json", "/errors/5/code", "1999"),
    Change("an error is no longer retryable", "errors.json", "/errors/6/retryable", "false"),
    Change("an error tells less", "errors.json", "/errors/8/data", "[]"),
    Change("a policy member is gone", "policy.schema.json", "/properties/forbids", nil),
    Change("a policy's names are narrower", "policy.schema.json", "/properties/tiers/maxProperties", "1"),
  ]

  @Test(arguments: breaking)
  func breakingChange_isFound(_ change: Change) throws {
    let old = RepositoryFixture.contract
    let new: Contract
    if change.testDescription == "an error tells less" {
      new = try RepositoryFixture.contract(changing: change.path) { value in
        for index in value["errors"]!.elements!.indices { value[at: "/errors/\(index)/data"] = .array([]) }
      }
    } else {
      new = try change.contract()
    }
    #expect(Compatibility.problems(from: old, to: new).isEmpty == false)
  }

  @Test func removedMethodEventOrError_isFound() throws {
    let old = RepositoryFixture.contract
    var new = old
    new.methods.removeAll { $0.name == "token.reject" }
    new.events.removeAll { $0.name == "clock.suspect" }
    new.errors.removeAll { $0.name == "rolledBack" }
    let problems = Compatibility.problems(from: old, to: new).map(\.description)
    #expect(problems.count == 3)
    for name in ["token.reject", "clock.suspect", "rolledBack"] {
      #expect(problems.contains { $0.contains(name) && $0.contains("gone") }, "\(name)")
    }
  }

  static let growing = [
    Change(
      "an optional param", "methods/account.forget.json", "/params/properties/reason",
      #"{"type":"string","maxLength":64}"#),
    Change("a wider bound", "types/accountSelector.json", "/maxLength", "256"),
    Change("a word", "types/signOutMode.json", "/enum/3", #""everywhere""#),
    Change("a required param that becomes optional", "methods/policy.set.json", "/params/required", #"["policy"]"#),
    Change("a result's member", "types/session.json", "/properties/mood", #"{"type":"boolean"}"#),
    Change(
      "a result's optional member that is always there", "types/eventNotification.json", "/required/9", #""account""#),
    Change("an error of a method", "methods/agent.lock.json", "/errors", #"["storeUnavailable"]"#),
    Change("a method that is ordered now", "methods/token.get.json", "/ordering", #""connection""#),
    Change("a param's pattern is dropped", "methods/signIn.begin.json", "/params/properties/prompt/pattern", nil),
    Change("words", "methods/token.get.json", "/summary", #""Another summary.""#),
  ]

  @Test(arguments: growing)
  func addition_isCompatible(_ change: Change) throws {
    #expect(Compatibility.problems(from: RepositoryFixture.contract, to: try change.contract()) == [])
  }
}
