import AgentModel
import AgentPorts
import Foundation
import Secrets
import Testing

@Suite struct EncodingTests {
  static func text(_ secret: Secret) -> String { secret.withBytes { String(decoding: $0, as: UTF8.self) } }

  @Test func base64URL_roundTripsEveryLength() {
    for count in 0...66 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 250) }
      let expected = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
      #expect(Base64URL.encode(bytes) == expected)
      #expect(Base64URL.decode(expected) == bytes)
    }
  }

  @Test(arguments: ["A", "AAAAA", "AA==", "AA=", "A A", "AA\n", "A+", "A/", "AB", "AAB", "Zh", "Ä"])
  func base64URL_refusesOtherSpellings(text: String) { #expect(Base64URL.decode(text) == nil) }

  @Test(arguments: [
    ("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"), ("fooba", "mzxw6ytb"),
    ("foobar", "mzxw6ytboi"),
  ])
  func base32_matchesTheRFC4648Vectors(text: String, encoded: String) { #expect(Base32.encode(text.utf8) == encoded) }

  @Test func percentCoding_escapesAllButUnreservedCharacters() {
    #expect(PercentCoding.encode("aZ09-._~ /ü") == "aZ09-._~%20%2F%C3%BC")
    #expect(PercentCoding.encode("a b+c", form: true) == "a+b%2Bc")
    #expect(PercentCoding.decode("a+b%2bc%C3%BC".utf8, form: true) == "a b+cü")
    #expect(PercentCoding.decode("a+b".utf8) == "a+b")
    for broken in ["%", "%4", "%zz", "%ff", "%C3"] { #expect(PercentCoding.decode(broken.utf8) == nil) }
  }

  @Test func duplicateQueryParameter_isReported() throws {
    let query = try #require(HTTPQuery("code=abc&state=x%3Dy&&flag&code=def&empty="))
    #expect(query.items.map(\.name) == ["code", "state", "flag", "code", "empty"])
    #expect(query["code"] == nil && query.values("code") == ["abc", "def"])
    #expect(query["state"] == "x=y" && query["flag"] == "" && query["empty"] == "" && query["missing"] == nil)
    #expect(HTTPQuery("")?.items.isEmpty == true)
    #expect(HTTPQuery("a=%zz") == nil && HTTPQuery("a=%ff") == nil)
    #expect(HTTPQuery(String(repeating: "a&", count: 64)) != nil)
    #expect(HTTPQuery(String(repeating: "a&", count: 65)) == nil)
  }

  @Test func formBody_encodesTextAndSecretsAlike() {
    var form = FormBody()
    form.append("grant_type", "refresh_token")
    form.append("refresh_token", Secret(text: "a+b/c=~ &ü"))
    form.append("scope", "openid profile")
    #expect(
      Self.text(form.finish())
        == "grant_type=refresh_token&refresh_token=a%2Bb%2Fc%3D~+%26%C3%BC&scope=openid+profile")
  }

  @Test func basicCredentials_areFormEncodedBeforeJoining() throws {
    for password in ["", "p", "pa", "pas", "a:b c%+"] {
      let field = HTTPField.basic(clientID: "my:client", clientSecret: Secret(text: password))
      guard case .secret(let value) = field.value else { throw NotASecret() }
      let pair = "my%3Aclient:" + PercentCoding.encode(password, form: true)
      #expect(field.name == "Authorization")
      #expect(Self.text(value) == "Basic " + Data(pair.utf8).base64EncodedString())
    }
    guard case .secret(let bearer) = HTTPField.bearer(Secret(text: "at")).value else { throw NotASecret() }
    #expect(Self.text(bearer) == "Bearer at")
  }

  struct NotASecret: Error {}
}
