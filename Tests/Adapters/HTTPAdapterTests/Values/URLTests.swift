import AgentModel
import Testing

@Suite struct URLTests {
  @Test(arguments: [
    ("https://idp.example", "https://idp.example/"),
    ("HTTPS://IDP.Example:443/a", "https://idp.example/a"),
    ("http://127.0.0.1:8080/cb?code=a%20b&state=x", "http://127.0.0.1:8080/cb?code=a%20b&state=x"),
    ("https://idp.example:/x", "https://idp.example/x"),
    ("https://idp.example/a/./b/../c/%2E%2e/d/..", "https://idp.example/a/"),
    ("https://idp.example/../..", "https://idp.example/"),
    ("https://idp.example//double//", "https://idp.example//double//"),
    ("https://idp.example?x", "https://idp.example/?x"),
    ("https://idp.example/?", "https://idp.example/?"),
    ("https://[2001:DB8:0:0:1:0:0:1]:8443/", "https://[2001:db8::1:0:0:1]:8443/"),
    ("https://[::1]/", "https://[::1]/"), ("https://[::2:0]/", "https://[::2:0]/"),
    ("https://[1::]/", "https://[1::]/"), ("https://[::ffff:192.0.2.1]/", "https://[::ffff:c000:201]/"),
    ("https://[1:0:2:3:4:5:6:7]/", "https://[1:0:2:3:4:5:6:7]/"),
    ("https://a_b-c.example/~x;y=1,2!$&'()*+@:", "https://a_b-c.example/~x;y=1,2!$&'()*+@:"),
  ])
  func url_isNormalised(text: String, normal: String) throws {
    let url = try #require(HTTPURL(text))
    #expect(url.text == normal)
    #expect(HTTPURL(url.text) == url, "the normal form is its own")
  }

  @Test(arguments: [
    "", "idp.example", "//idp.example/", "ftp://idp.example/", "file:///etc/passwd", "https:/idp.example", "https://",
    "https:///path", "https://user@idp.example/", "https://user:pw@idp.example/", "https://idp.example@evil.example/",
    "https://idp.example/#", "https://idp.example/a#b", "https://idp.example/a b", "https://idp.example/ü",
    "https://idp.example/%", "https://idp.example/%4", "https://idp.example/%zz", "https://idp.example/?%zz",
    "https://idp.example\\@evil.example/", "https://idp.example:0/", "https://idp.example:65536/",
    "https://idp.example:99999999/", "https://idp.example:8a/", "https://idp.example:-1/", "https://idp..example/",
    "https://.example/", "https://idp.example./", "https://id%70.example/", "https://127.1/", "https://2130706433/",
    "https://0x7f000001/", "https://0x7f.0.0.1/", "https://127.0.0.256/", "https://127.0.0.01/", "https://1.2.3.4.5/",
    "https://[::1/", "https://::1/", "https://[::1]x/", "https://[fe80::1%25eth0]/", "https://[1::2::3]/",
    "https://[12345::]/", "https://[1:2:3:4:5:6:7]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[::1.2.3]/",
    "https://[1.2.3.4::]/", "https://[:1::2]/", "https://idp.example/a[b]", "https://idp.example/\"",
    "https://a\u{0}b/",
    // This machine, in other spellings than those that `isLoopback` knows.
    "https://0.0.0.0/", "https://0.1.2.3/", "https://localhost./", "https://[::]/", "https://[0:0:0:0:0:0:0:0]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f01:203]/", "https://[::ffff:0.0.0.0]/", "https://[::127.0.0.1]/",
  ])
  func malformedURL_isRefused(text: String) { #expect(HTTPURL(text) == nil) }

  @Test func urlOverTheLengthLimit_isRefused() {
    let base = "https://idp.example/"
    #expect(HTTPURL(base + String(repeating: "a", count: HTTPURL.maximumBytes - base.utf8.count)) != nil)
    #expect(HTTPURL(base + String(repeating: "a", count: HTTPURL.maximumBytes)) == nil)
  }

  @Test(arguments: [
    ("http://127.0.0.1/", true), ("http://127.255.3.4/", true), ("http://[::1]/", true), ("http://LOCALHOST/", true),
    ("http://[0:0:0:0:0:0:0:1]/", true), ("http://128.0.0.1/", false), ("http://127.0.0.1.example/", false),
    ("http://localhost.example/", false), ("http://[::ffff:128.0.0.1]/", false), ("http://[::2]/", false),
    ("http://127.example/", false),
  ])
  func loopbackURL_isRecognised(text: String, isLoopback: Bool) throws {
    #expect(try #require(HTTPURL(text)).isLoopback == isLoopback)
  }

  @Test func url_isSplitIntoItsParts() throws {
    let url = try #require(HTTPURL("https://[::1]:8443/authorize?tenant=a"))
    #expect(url.scheme == .https && url.host == "::1" && url.port == 8443)
    #expect(url.path == "/authorize" && url.query == "tenant=a")
    #expect(url.origin == "https://[::1]:8443" && url.hostText == "[::1]")
    #expect(HTTPURL("http://idp.example:443/")?.origin == "http://idp.example:443")
  }

  @Test func queryOfAnEndpoint_isKeptWhenParametersAreAdded() throws {
    let parameters = [("state", "a b&c"), ("scope", "openid profile")]
    #expect(
      HTTPURL("https://idp.example/a?t=1")?.adding(parameters)
        == "https://idp.example/a?t=1&state=a+b%26c&scope=openid+profile")
    #expect(HTTPURL("https://idp.example/a?")?.adding([("x", "")]) == "https://idp.example/a?x=")
    #expect(HTTPURL("https://idp.example")?.adding([]) == "https://idp.example/")
  }
}
