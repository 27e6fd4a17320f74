import SchemaKit
import Testing

/// A schema outside the dialect is refused with its place.
struct DialectTests {
  @Test(arguments: [
    ("/params/properties/alias", #"{"type":"string","maxLength":9,"contentEncoding":"base64"}"#, "contentEncoding"),
    ("/params/properties/alias", #"{"type":"string"}"#, "maxLength"),
    ("/params/properties/alias", #"{"type":"integer","minimum":0}"#, "maximum"),
    ("/params/properties/alias", #"{"type":"number"}"#, "type"),
    ("/params/properties/alias", #"{"type":"string","maxLength":9,"pattern":"^(a|b)$"}"#, "pattern"),
    ("/params/properties/alias", #"{"type":"string","enum":["a","a"]}"#, "enum"),
    ("/params/properties/alias", #"{"type":"array","items":{"type":"boolean"}}"#, "maxItems"),
    ("/params/properties/alias", #"{"type":"boolean","x-secret":true}"#, "secret"),
    ("/params/properties/alias", #"{"type":"string","maxLength":9,"pattern":"^[a-z]+$","x-secret":true}"#, "secret"),
    ("/params/properties/alias", #"{"$ref":"../types/nobody.json"}"#, "nobody"),
    ("/params/properties/alias", #"{"type":"object","properties":{}}"#, "types/"),
    ("/params/additionalProperties", "true", "additionalProperties"),
    (
      "/result",
      #"{"type":"object","additionalProperties":false,"required":["account"],"properties":{"account":{"$ref":"../types/accountId.json"}}}"#,
      "grow"
    ),
    ("/result/properties/account", #"{"type":"boolean"}"#, "account-scoped"),
    ("/errors", #"["nobodyHome"]"#, "nobodyHome"),
    ("/examples", "[]", "examples"),
    ("/examples/0/params/alias", "17", "alias"),
    ("/ordering", #""sometimes""#, "ordering"),
    ("/sincee", #""1""#, "sincee"),
  ])
  func schemaOutsideTheDialect_isRefused(_ pointer: String, _ json: String, _ word: String) throws {
    let value = try JSONValue(parsing: json)
    let path = "methods/account.rename.json"
    do {
      _ = try RepositoryFixture.contract(changing: path) { $0[at: pointer] = value }
      Issue.record("not refused: \(pointer)")
    } catch let error as ContractProblems {
      #expect(error.problems.contains { $0.pointer.hasPrefix(path) && $0.description.contains(word) }, "\(error)")
    }
  }

  @Test func recursiveType_isRefused() {
    let items = #"{"type":"array","maxItems":2,"items":{"$ref":"../types/decision.json"}}"#
    #expect(throws: ContractProblems.self) {
      try RepositoryFixture.contract(changing: "types/policyUse.json") { value in
        value[at: "/properties/others"] = try! JSONValue(parsing: items)
      }
    }
  }

  @Test func exampleWithARealLookingSecret_isRefused() {
    #expect(throws: ContractProblems.self) {
      try RepositoryFixture.contract(changing: "methods/token.get.json") {
        $0[at: "/examples/0/result/accessToken"] = "eyJhbGciOi"
      }
    }
  }

  @Test(arguments: [
    ("^acc_[a-z2-7]{26}$", "acc_c2ztq4xk7m3vwy5ndhb6rfgupa", true),
    ("^acc_[a-z2-7]{26}$", "acc_c2ztq4xk7m3vwy5ndhb6rfgup1", false),
    ("^acc_[a-z2-7]{26}$", "acc_c2ztq4xk7m3vwy5ndhb6rfgupaa", false),
    ("^(?!acc_)[a-z_]{1,9}$", "acc_x", false), ("^(?!acc_)[a-z_]{1,9}$", "ac_x", true),
    ("^[A-Za-z0-9+/]*[=]{0,2}$", "", true), ("^[A-Za-z0-9+/]*[=]{0,2}$", "QQ==", true),
    ("^[A-Za-z0-9+/]*[=]{0,2}$", "QQ===", false), ("^[!#-\\[\\]-~]{1,256}$", "a\"b", false),
    ("^[!#-\\[\\]-~]{1,256}$", "a]b", true), ("^[a-z]+$", "", false), ("^[a-z]{2}$", "ä", false),
  ])
  func pattern_matchesTheWholeText(_ source: String, _ text: String, _ matches: Bool) throws {
    let pattern = try #require(TextPattern(source))
    #expect(pattern.matches(text) == matches)
  }

  @Test(arguments: ["a", "^a", "^a|b$", "^.$", "^[a-z]*[a-c]$", "^[^a]$", "^a{2,1}$", "^(a)$", "^[]$"])
  func patternThatNeedsARegexEngine_isRefused(_ source: String) {
    #expect(TextPattern(source) == nil)
  }
}
