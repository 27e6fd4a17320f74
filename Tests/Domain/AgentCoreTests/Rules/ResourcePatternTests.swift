import AgentCore
import AgentModel
import Testing

struct ResourcePatternTests {
  @Test(arguments: [
    ("https://git.example", "https://git.example/*"), ("https://git.example/", "https://git.example/*"),
    ("https://git.example/*", "https://git.example/*"), ("HTTPS://GIT.example:443/a/*", "https://git.example/a/*"),
    ("https://git.example/a/../b/./*", "https://git.example/b/*"),
    ("https://git.example:8443/x", "https://git.example:8443/x"),
  ])
  func normalForm(_ text: String, _ normal: String) throws {
    #expect(try ResourcePattern(text).text == normal)
    #expect(try ResourcePattern(normal).text == normal)
  }

  @Test(arguments: [
    "", "git.example", "http://git.example/*", "https://*.example/*", "https://*/*", "https://me@git.example/*",
    "https://git.example/a*", "https://git.example/*/b", "https://git.example/%2A/b", "https://git.example/?q",
    "https://git.example/#f", "https:///*",
  ])
  func refused(_ text: String) { #expect(throws: ResourcePattern.Refusal.self) { try ResourcePattern(text) } }

  @Test(arguments: [
    ("https://git.example/acme/*", "https://git.example/acme/app", true),
    ("https://git.example/acme/*", "https://git.example/acme", true),
    ("https://git.example/acme/*", "https://git.example/acme/", true),
    ("https://git.example/acme/*", "https://git.example/%61cme/app?x=1", true),
    ("https://git.example/acme/*", "https://git.example/acme-evil/app", false),
    ("https://git.example/acme/*", "https://git.example/acme%2Fapp", false),
    ("https://git.example/acme/*", "https://git.example/acme/%2e%2e/other", false),
    ("https://git.example/acme/*", "https://git.example//acme/app", false),
    ("https://git.example/acme/*", "https://git.example.evil/acme/app", false),
    ("https://git.example/acme/*", "https://sub.git.example/acme/app", false),
    ("https://git.example/acme/*", "http://git.example/acme/app", false),
    ("https://git.example/acme/*", "https://git.example:444/acme/app", false),
    ("https://git.example/acme/app", "https://git.example/acme/app/", true),
    ("https://git.example/acme/app", "https://git.example/acme/app/info", false),
    ("https://git.example", "https://GIT.EXAMPLE:443/any/thing", true),
  ])
  func covers(_ pattern: String, _ url: String, _ isCovered: Bool) throws {
    #expect(try ResourcePattern(pattern).covers(#require(HTTPURL(url))) == isCovered)
  }

  @Test func theLongerSaysMore() throws {
    let ordered = try [
      "https://git.example/acme/app", "https://git.example/acme/app/*", "https://git.example/acme/*",
      "https://git.example/*",
    ].map { try ResourcePattern($0) }
    for (index, pattern) in ordered.enumerated() {
      for other in ordered[(index + 1)...] {
        #expect(pattern.isLonger(than: other) && !other.isLonger(than: pattern))
      }
    }
  }
}
