import AgentModel
import AgentPorts
import HTTPAdapter
import Testing

/// `no_proxy` is read as curl and Go read it.
@Suite struct ProxyExceptionsTests {
  @Test(arguments: [
    ("*", "https://idp.example/"),
    ("corp.example", "https://corp.example/"), ("corp.example", "https://git.corp.example/"),
    (".corp.example", "https://git.corp.example/"), (".corp.example", "https://corp.example/"),
    ("*.corp.example", "https://git.corp.example/"), ("*.corp.example", "https://a.b.corp.example/"),
    (".corp", "https://git.corp/"), ("*.corp", "https://git.corp/"), ("CORP.Example", "https://git.corp.example/"),
    ("corp.example.", "https://corp.example/"),
    ("a.example, corp.example", "https://corp.example/"), ("a.example corp.example", "https://corp.example/"),
    ("nonsense:,,corp.example", "https://corp.example/"),
    ("corp.example:8443", "https://git.corp.example:8443/"), ("*.corp.example:443", "https://git.corp.example/"),
    ("*:8443", "https://idp.example:8443/"),
    ("192.0.2.1", "https://192.0.2.1/"), ("192.0.2.1:8443", "https://192.0.2.1:8443/"),
    ("192.0.2.0/24", "https://192.0.2.255/"), ("192.0.2.128/25", "https://192.0.2.129/"),
    ("0.0.0.0/0", "https://192.0.2.1/"),
    ("192.0.2.0/24:8443", "https://192.0.2.7:8443/"), ("192.0.2.7/31", "https://192.0.2.6/"),
    ("2001:db8::1", "https://[2001:DB8:0::1]/"), ("[2001:db8::1]", "https://[2001:db8::1]/"),
    ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/"), ("2001:db8::/32", "https://[2001:db8:ffff::1]/"),
  ])
  func server_isExcepted(pattern: String, url: String) throws {
    #expect(ProxyExceptions([pattern]).cover(try #require(HTTPURL(url))))
  }

  @Test(arguments: [
    ("", "https://idp.example/"), (",", "https://idp.example/"), ("*.", "https://idp.example/"),
    ("orp.example", "https://corp.example/"), ("corp.example", "https://corp.example.evil.test/"),
    ("*.corp.example", "https://corp.example/"), ("*corp.example", "https://git.corp.example/"),
    ("corp.example:8443", "https://corp.example/"), ("corp.example:0", "https://corp.example/"),
    ("corp.example:http", "https://corp.example/"), ("https://corp.example", "https://corp.example/"),
    ("192.0.2.1", "https://192.0.2.11/"), ("192.0.2.1:8443", "https://192.0.2.1/"),
    ("192.0.2.0/24", "https://192.0.3.1/"), ("192.0.2.128/25", "https://192.0.2.127/"),
    ("192.0.2.0/33", "https://192.0.2.1/"), ("192.0.2.0/", "https://192.0.2.1/"),
    ("192.0.2.0/+8", "https://192.0.2.1/"),
    ("192.0.2.0/24/24", "https://192.0.2.1/"), ("192.0.2", "https://192.0.2.1/"),
    ("0.0.0.0/0", "https://[2001:db8::1]/"), ("::/0", "https://192.0.2.1/"), ("192.0.2.0/24", "https://idp.example/"),
    ("2001:db8::/32", "https://[2001:db9::1]/"), ("2001:db8::1:8443", "https://[2001:db8::1]:8443/"),
    ("[2001:db8::1]:8443", "https://[2001:db8::1]/"),
  ])
  func server_isNotExcepted(pattern: String, url: String) throws {
    #expect(!ProxyExceptions([pattern]).cover(try #require(HTTPURL(url))))
  }

  private func proxy(_ trust: TrustSettings, _ variables: [String: String], _ url: String = "https://idp.example/")
    -> String?
  {
    trust.proxy(to: HTTPURL(url)!) { variables[$0] }
  }

  @Test func environment_namesAProxy_inTheOrderOfCurl() {
    let all = ["https_proxy": "a", "HTTPS_PROXY": "b", "all_proxy": "c", "ALL_PROXY": "d", "http_proxy": "e"]
    #expect(proxy(TrustSettings(), all) == "a")
    #expect(proxy(TrustSettings(), all.merging(["https_proxy": ""]) { $1 }) == "b")
    #expect(proxy(TrustSettings(), ["ALL_PROXY": "d", "all_proxy": "c"]) == "c")
    #expect(proxy(TrustSettings(), ["http_proxy": "e"]) == nil)
    #expect(proxy(TrustSettings(proxy: "http://own.example:1"), all) == "http://own.example:1")
    #expect(proxy(TrustSettings(proxy: "none"), all) == nil)
    #expect(proxy(TrustSettings(), all, "https://localhost/") == nil)
  }

  @Test func environment_namesExceptions_unlessTheSettingsDo() {
    let all = ["https_proxy": "a", "no_proxy": "idp.example", "NO_PROXY": "other.example"]
    #expect(proxy(TrustSettings(), all) == nil)
    #expect(proxy(TrustSettings(), all, "https://other.example/") == "a")
    #expect(proxy(TrustSettings(), all.merging(["no_proxy": ""]) { $1 }, "https://other.example/") == nil)
    #expect(proxy(TrustSettings(noProxy: []), all) == "a")
    #expect(proxy(TrustSettings(noProxy: ["*.example"]), ["https_proxy": "a"]) == nil)
  }

  @Test func enforcedProxy_hasNoExceptions() {
    var defaults = ConnectionDefaults(proxy: "http://proxy.example:1")
    var request = HTTPRequest(method: "GET", url: "https://idp.example/")
    let everything = ["NO_PROXY": "*", "no_proxy": "idp.example"]
    #expect(proxy(defaults.trust(of: request), everything) == nil)
    defaults.enforcesProxy = true
    #expect(proxy(defaults.trust(of: request), everything) == "http://proxy.example:1")
    request.proxy = "none"
    #expect(proxy(defaults.trust(of: request), everything) == "http://proxy.example:1")
    defaults.proxy = "none"
    request.proxy = "http://own.example:1"
    #expect(proxy(defaults.trust(of: request), ["https_proxy": "a"]) == nil)
  }

  @Test(arguments: [
    ("http://proxy.example:3128", "http://proxy.example:3128"), ("proxy.example:3128", "http://proxy.example:3128"),
    ("http://alice:secret@proxy.example:3128/x", "http://proxy.example:3128"),
    ("socks5h://a@b@proxy.example", "socks5h://proxy.example"),
    ("http://alice:se/cr#e?t@proxy.example:3128", "http://proxy.example:3128"),
  ])
  func shownAddress_hasNoPassword(address: String, shown: String) { #expect(ProxyAddress.shown(address) == shown) }
}
