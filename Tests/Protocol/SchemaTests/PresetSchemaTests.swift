import AgentCore
import SchemaKit
import Testing

/// `Schemas/presets` agree with their schema, and each member has its source.
@Suite struct PresetSchemaTests {
  private static let small = #"""
    {"name":"idp","title":"IdP","issuer":"https://idp.example","scopes":["openid"],
     "rules":[{"members":["issuer","scopes"],"says":"x","source":"https://idp.example/docs","date":"2026-11-23"}]}
    """#

  private func problems(_ text: String, named name: String = "idp") throws -> [String] {
    let preset = Preset(name: name, value: try JSONValue(parsing: text))
    return RepositoryFixture.contract.problems(of: preset).map(\.description)
  }

  @Test func presetWithSources_hasNoProblem() throws {
    #expect(try problems(Self.small) == [])
  }

  @Test(
    arguments: [
      (#""scopes":["openid"],"#, #""scopes":["openid"],"hosts":["a"],"#, "/hosts: has no rule"),
      (#"["issuer","scopes"]"#, #"["issuer","scopes","hosts"]"#, "/rules: is about hosts"),
      ("2026-11-23", "yesterday", "/rules/0/date"),
      (#""issuer":"https://idp.example","#, "", "/issuerTemplate: is missing"),
      (#""scopes":["openid"],"#, #""scopes":["openid"],"color":"red","#, "/color: is not known"),
      (#""name":"idp""#, #""name":"other""#, "/name: is not the file's name"),
    ])
  func brokenPreset_isReported(part: String, replacement: String, problem: String) throws {
    let found = try problems(Self.small.replacing(part, with: replacement))
    #expect(found.contains { $0.contains(problem) }, "\(found)")
  }

  private static let secret = #"""
    {"name":"idp","title":"IdP","kind":"secret","categories":["ai"],"allowedOrigins":["https://api.idp.example"],
     "page":"https://idp.example/keys","operations":[{"name":"a.list","kind":"read","methods":["GET"],"path":"/a"}],
     "rules":[{"members":["allowedOrigins","page","operations"],"says":"x","source":"https://idp.example/docs",
     "date":"2026-11-29"}]}
    """#

  @Test func presetOfSecrets_hasNoProblem() throws {
    #expect(try problems(Self.secret) == [])
  }

  @Test(
    arguments: [
      (#""allowedOrigins":["https://api.idp.example"],"#, "", "/allowedOrigins: is missing"),
      (#""page":"https://idp.example/keys","#, "", "/page: is missing"),
      (#""categories":["ai"],"#, "", "/categories: is missing"),
      (#""kind":"secret","#, #""kind":"secret","issuer":"https://idp.example","#, "/issuer: is of a sign-in"),
      (#""kind":"secret","#, #""kind":"secret","scopes":["openid"],"#, "/scopes: is of a sign-in"),
      (#""kind":"secret","#, "", "/issuerTemplate: is missing"),
      (#""kind":"secret","#, #""username":"x","#, "/username: is of a secret"),
      (#""kind":"secret","#, #""kind":"client","#, "/kind"),
      (#""a.list""#, #""list""#, "/operations/0/name"),
      (#""methods":["GET"]"#, #""methods":["get"]"#, "/operations/0/methods/0"),
      (#""ai""#, #""ki""#, "/categories/0"),
      (#""page","operations""#, #""page""#, "/operations: has no rule"),
    ])
  func brokenPresetOfSecrets_isReported(part: String, replacement: String, problem: String) throws {
    let found = try problems(Self.secret.replacing(part, with: replacement))
    #expect(found.contains { $0.contains(problem) }, "\(found)")
  }

  @Test func presetWithoutDiscovery_hasTheEndpointsOfASignIn() throws {
    let text = Self.small.replacing(#""scopes":["openid"],"#, with: #""discovery":false,"#)
      .replacing(#""scopes""#, with: #""discovery""#)
    #expect(try problems(text).contains { $0.contains("/endpoints/token: is missing") })
  }

  @Test func everyFile_isAPresetOfTheAgent() {
    #expect(RepositoryFixture.repository.presets.map(\.name) == ProviderPreset.all.map(\.name))
  }
}
