import AgentCore
import Testing

@Suite struct IssuerTemplateTests {
  @Test(
    arguments: [
      (
        "https://HOST/realms/REALM", "https://kc.example:8443/realms/acme",
        ["HOST": "kc.example:8443", "REALM": "acme"]
      ),
      ("https://ORG.okta.com/oauth2/default", "https://acme.okta.com/oauth2/default", ["ORG": "acme"]),
      ("https://TENANT.auth0.com/", "https://acme.eu.auth0.com/", ["TENANT": "acme.eu"]),
      ("https://login.example/TENANT-ID/v2.0", "https://login.example/8a1b-2/v2.0", ["TENANT-ID": "8a1b-2"]),
    ])
  func addressOfTheTemplate_hasItsWords(template: String, address: String, words: [String: String]) {
    let template = IssuerTemplate(template)
    #expect(template.words(of: address) == words)
    #expect(template.filled(with: words) == address)
  }

  @Test(
    arguments: [
      ("https://HOST/realms/REALM", "https://kc.example/realms/"),
      ("https://HOST/realms/REALM", "https://kc.example/acme"),
      ("https://HOST/realms/REALM", "https://kc.example/realms/acme/x"), ("https://HOST/realms/REALM", ""),
      ("https://ORG.okta.com/oauth2/default", "https://.okta.com/oauth2/default"),
      ("https://ORG.okta.com/oauth2/default", "https://acme.example/x.okta.com/oauth2/default"),
      ("https://HOST/HOST", "https://a.example/b.example"),
    ])
  func otherAddress_isNoneOfTheTemplate(template: String, address: String) {
    #expect(IssuerTemplate(template).words(of: address) == nil)
  }

  @Test func missingWord_fillsNothing() {
    #expect(IssuerTemplate("https://HOST/realms/REALM").filled(with: ["HOST": "a.example"]) == nil)
  }
}
