import Foundation
import LoopbackHTTP
import Testing

import PracticeProvider

@Suite struct PageTests {
  private func signIn(
    _ practice: Practice,
    user: String = "alice@acme",
    password: String = "alice",
    decision: String = "allow"
  ) throws -> HTTPResponse {
    let page = practice.get(practice.authorizationURL())
    let interaction = try #require(page.hiddenField("interaction"))
    return practice.post(
      "/authorize",
      ["interaction": interaction, "username": user, "password": password, "decision": decision]
    )
  }

  @Test func signInPage_namesTheClientAndItsScopes() {
    let practice = Practice()
    let page = practice.get(practice.authorizationURL(["scope": "openid offline_access workorders:write"]))
    #expect(page.status == 200)
    #expect(page.text.contains("<b>lanyard-demo</b>"))
    #expect(page.text.contains("Stay signed in while you are away"))
    #expect(page.text.contains("Change your work orders"))
    #expect(page.text.contains("Alice Archer"))
  }

  @Test func signInPage_hasAStrictContentSecurityPolicy() throws {
    let practice = Practice()
    let page = practice.get(practice.authorizationURL())
    let policy = try #require(page.header("Content-Security-Policy"))
    #expect(policy.contains("default-src 'none'"))
    #expect(policy.contains("style-src '\(Stylesheet.hash)'"))
    #expect(policy.contains("form-action 'self' http://127.0.0.1:49152"))
    #expect(policy.contains("frame-ancestors 'none'"))
    #expect(!page.text.contains("<script"))
    #expect(!page.text.contains("src="))
    #expect(page.header("Referrer-Policy") == "no-referrer")
  }

  /// The border is all that shows where a control is (WCAG 2.1, 1.4.11): 3 to 1 on what lies on both sides of it.
  @Test func borders_ofControls_canBeSeen() throws {
    let text = Stylesheet.text
    let controls = ["\n.person {", "\ninput[type", "\nbutton {"]
    for control in controls {
      let rule = try #require(text.components(separatedBy: control).dropFirst().first?.split(separator: "}").first)
      #expect(rule.contains("1px solid var(--edge)"), "\(control)")
    }
    let schemes = text.components(separatedBy: ":root {").dropFirst().map { Self.colours(in: $0) }
    #expect(schemes.count == 2)
    for scheme in schemes {
      let edge = try #require(scheme["edge"])
      for side in ["paper", "ground"] { #expect(try Self.contrast(edge, #require(scheme[side])) >= 3, "\(side)") }
      #expect(try Self.contrast(#require(scheme["soft"]), #require(scheme["paper"])) >= 4.5)
    }
  }

  private static func colours(in scheme: String) -> [String: [Double]] {
    var found: [String: [Double]] = [:]
    for declaration in scheme.prefix(while: { $0 != "}" }).split(separator: ";") {
      let parts = declaration.split(separator: ":").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
      guard parts.count == 2, parts[0].hasPrefix("--"), parts[1].count == 7,
        let bits = Int(parts[1].dropFirst(), radix: 16)
      else { continue }
      found[String(parts[0].dropFirst(2))] = [16, 8, 0].map { Double(bits >> $0 & 0xFF) / 255 }
    }
    return found
  }

  private static func contrast(_ one: [Double], _ other: [Double]) -> Double {
    let light = [one, other].map { colour in
      zip([0.2126, 0.7152, 0.0722], colour).reduce(0) { sum, part in
        sum + part.0 * (part.1 <= 0.03928 ? part.1 / 12.92 : pow((part.1 + 0.055) / 1.055, 2.4))
      }
    }
    return (max(light[0], light[1]) + 0.05) / (min(light[0], light[1]) + 0.05)
  }

  @Test func rightPasswordOnThePage_signsIn() throws {
    let practice = Practice()
    let answer = try signIn(practice)
    #expect(answer.status == 303)
    let tokens = practice.exchange(code: try #require(answer.redirect["code"]))
    #expect(try DecodedJWT(tokens["id_token"]).claims["sub"] == "alice-acme")
  }

  @Test func wrongPasswordOnThePage_showsThePageAgain() throws {
    let practice = Practice()
    let again = try signIn(practice, password: "guess")
    #expect(again.status == 401)
    #expect(again.text.contains("role=\"alert\""))
    let interaction = try #require(again.hiddenField("interaction"))
    let answer = practice.post(
      "/authorize",
      ["interaction": interaction, "username": "alice", "password": "alice", "decision": "allow"]
    )
    #expect(answer.redirect["code"] != nil)
  }

  @Test func denyingOnThePage_needsNoPassword() throws {
    let answer = try signIn(Practice(), password: "", decision: "deny")
    #expect(answer.redirect["error"] == "access_denied")
    #expect(answer.redirect["state"] == "s-1")
  }

  @Test func disabledPerson_getsAnErrorPage() throws {
    let practice = Practice()
    try practice.idp.setUser("alice", disabled: true)
    let answer = try signIn(practice)
    #expect(answer.status == 403)
    #expect(answer.text.contains("disabled"))
  }

  @Test func signInPage_isUsableOnceWithinTenMinutes() throws {
    let practice = Practice()
    let page = practice.get(practice.authorizationURL())
    let interaction = try #require(page.hiddenField("interaction"))
    let fields: KeyValuePairs = [
      "interaction": interaction, "username": "alice", "password": "alice", "decision": "allow",
    ]
    practice.advance(seconds: 600)
    #expect(practice.post("/authorize", fields).status == 400)
    let fresh = try signIn(practice)
    #expect(fresh.status == 303)
    #expect(practice.post("/authorize", ["interaction": "made-up", "decision": "allow"]).status == 400)
  }

  @Test func signedInBrowser_isNotAskedForThePasswordAgain() throws {
    let practice = Practice()
    let cookie = try #require(signIn(practice).header("Set-Cookie"))
    #expect(cookie.contains("HttpOnly"))
    #expect(cookie.contains("SameSite=Lax"))
    let session = [(name: "Cookie", value: "other=1; " + cookie.prefix { $0 != ";" })]
    practice.advance(seconds: 100)

    let silent = practice.get(practice.authorizationURL(["prompt": "none"]), headers: session)
    let tokens = practice.exchange(code: try #require(silent.redirect["code"]))
    #expect(try DecodedJWT(tokens["id_token"]).claims["auth_time"] == 1_893_456_000)

    let page = practice.get(practice.authorizationURL(), headers: session)
    #expect(page.text.contains("Welcome back"))
    #expect(!page.text.contains("type=\"password\""))
    let interaction = try #require(page.hiddenField("interaction"))
    let without = practice.post("/authorize", ["interaction": interaction, "username": "alice", "decision": "allow"])
    #expect(without.status == 401)
    let with = practice.post(
      "/authorize",
      ["interaction": interaction, "username": "alice", "decision": "allow"],
      headers: session
    )
    #expect(with.redirect["code"] != nil)

    for changes in [["prompt": "login"], ["login_hint": "bob"], ["max_age": "50"]] as [KeyValuePairs<String, String?>] {
      let asked = practice.get(practice.authorizationURL(changes), headers: session)
      #expect(asked.text.contains("type=\"password\""))
    }
  }

  @Test func signedInBrowser_canChooseAnotherAccount() throws {
    let practice = Practice()
    let cookie = try #require(signIn(practice).header("Set-Cookie"))
    let session = [(name: "Cookie", value: String(cookie.prefix { $0 != ";" }))]
    let page = practice.get(practice.authorizationURL(), headers: session)
    let interaction = try #require(page.hiddenField("interaction"))
    let other = practice.post("/authorize", ["interaction": interaction, "decision": "other"], headers: session)
    #expect(other.text.contains("type=\"password\""))
    let answer = practice.post(
      "/authorize",
      ["interaction": interaction, "username": "bob", "password": "bob", "decision": "allow"],
      headers: session
    )
    let tokens = practice.exchange(code: try #require(answer.redirect["code"]))
    #expect(try DecodedJWT(tokens["id_token"]).claims["sub"] == "bob-globex")
  }

  @Test func loginHint_preselectsThePerson() {
    let practice = Practice()
    let page = practice.get(practice.authorizationURL(["login_hint": "carol"]))
    #expect(page.text.contains("value=\"carol@acme\" checked"))
  }

  @Test func manyPeople_areTypedInsteadOfListed() {
    let practice = Practice { $0.users = (1...20).map { PracticeUser(name: "person\($0)") } }
    let page = practice.get(practice.authorizationURL())
    #expect(page.text.contains("type=\"text\" id=\"username\""))
    #expect(!page.text.contains("person7@"))
  }

  @Test func namesOnThePage_areEscaped() {
    let practice = Practice { options in
      options.users = [PracticeUser(name: "eve", displayName: "<script>alert(1)</script>", email: "\"'&")]
    }
    let page = practice.get(practice.authorizationURL())
    #expect(!page.text.contains("<script>"))
    #expect(page.text.contains("&lt;script&gt;"))
    #expect(page.text.contains("&quot;&#39;&amp;"))
  }

  @Test func openSignInPages_areBounded() {
    let practice = Practice()
    for _ in 0..<300 { _ = practice.get(practice.authorizationURL()) }
    #expect(practice.idp.withState { $0.signIns.interactions.count } == Interaction.maximumOpen)
  }
}
