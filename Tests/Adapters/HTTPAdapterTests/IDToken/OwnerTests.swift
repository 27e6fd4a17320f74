import AgentCore
import AgentModel
import Testing

@Suite struct OwnerTests {
  static func owner(_ token: String) -> IDTokenOwner {
    var token = token
    return token.withUTF8 { IDTokenOwner(of: UnsafeRawBufferPointer($0)) }
  }

  static func change(_ token: String) -> IDTokenFailure? {
    owner(token).change(fromIssuer: { equalCodePoints($0, "https://idp.example") }, subject: "alice")
  }

  static let mallory = #"{"iss":"https://idp.example","sub":"mallory"}"#

  @Test(
    "Whose a token is, is read whatever else is wrong with it",
    arguments: [
      unsignedToken(#"{"alg":"none"}"#, mallory), unsignedToken("{", mallory), unsignedToken("[]", mallory),
      unsignedToken(#"{"alg":"RS256","typ":"at+jwt"}"#, mallory), unsignedToken(#"{"alg":"RS256","crit":[]}"#, mallory),
      String(unsignedToken(#"{"alg":"RS256"}"#, mallory).dropLast(4)), "x." + Base64URL.encode(mallory.utf8),
      unsignedToken("{}", mallory) + ".more.parts",
      "x." + Base64URL.encode(mallory.utf8) + "==.c2ln", "x." + Base64URL.encode(mallory.utf8) + ".?",
      unsignedToken("{}", #"{"sub":"mallory","exp":"soon","aud":5,"iss":7}"#),
      unsignedToken("{}", #"{"sub":"alice","sub":"mallory"}"#),
      unsignedToken("{}", #"{"sub":"mallory","sub":"alice"}"#),
      unsignedToken("{}", #"{"\u0073ub":"mallory"}"#), unsignedToken("{}", #"{"sub":"mallory","exp":1,}"#),
      unsignedToken("{}", #"{"sub":"mallory","x":"#), unsignedToken("{}", #"{"a":1,"sub":"mallory""#),
      unsignedToken(
        "{}",
        #"{"x":"# + String(repeating: "[", count: 99) + String(repeating: "]", count: 99)
          + #","sub":"mallory"}"#),
      unsignedToken("{}", #"{"x":""# + String(repeating: "y", count: 200_000) + #"","sub":"mallory"}"#),
      unsignedToken("{}", #"{"sub":"alic\u0065\u0301"}"#), unsignedToken("{}", #"{"sub":4711}"#),
      unsignedToken("{}", #"{"sub": 4711 ,"x":"\ud83d"}"#),
      unsignedToken("{}", #"{"\u0073ub":"mallor\u0079","name":"Al\ud83d"}"#),
    ])
  func idTokenOwner_isReadOfEveryMalformedToken(token: String) {
    #expect(Self.change(token) == .subjectChanged)
  }

  @Test(arguments: [
    #"{"iss":"https://idp.example/","sub":"alice"}"#, #"{"iss":"https://evil.example","exp":"soon"}"#,
    #"{"iss":"https://idp.example","iss":"https://evil.example"}"#, #"{"iss":"","iss":"https://evil.example"}"#,
    #"{"iss":"https:\/\/evil.example","name":"Al\ud83d"}"#,
  ])
  func anotherIssuer_isAnotherPerson(claims: String) {
    #expect(Self.change(unsignedToken("{}", claims)) == .issuerChanged)
  }

  @Test(
    "A token that names no person is no other's",
    arguments: [
      "", ".", "a.b.c", "a..c", "not a token", unsignedToken("{}", "{}"), unsignedToken("{}", #"{"sub":{"x":5}}"#),
      unsignedToken("{}", #"{"sub":null,"iss":null}"#), unsignedToken("{}", #"{"sub":"","iss":""}"#),
      unsignedToken("{}", #"{"sub":["mallory"]}"#),
      unsignedToken("{}", "[]"), unsignedToken("{}", #"["sub","mallory"]"#),
      unsignedToken("{}", #"{"x":{"sub":"mallory"}}"#), unsignedToken("{}", #"{"sub":"alice","exp":"soon"}"#),
      unsignedToken("{}", #"{"iss":"https://idp.example","sub":"alice"}"#),
      // Escapes beside a name that is cut within an emoji, and a value without an end.
      unsignedToken("{}", #"{"iss":"https:\/\/idp.example","sub":"\u0061lice","name":"Al\ud83d"}"#),
      unsignedToken("{}", #"{"iss":"https:\/\/idp.example","sub":"alice","exp":47"#),
    ])
  func tokenThatNamesNoOther_isNotAnotherPersons(token: String) {
    #expect(Self.change(token) == nil)
  }

  @Test(arguments: [#"{"sub":4711}"#, #"{"sub":"4711"}"#, #"{"sub":4711,"x":}"#])
  func numericSubject_isComparedByItsDigits(claims: String) {
    let owner = Self.owner(unsignedToken("{}", claims))
    #expect(owner.change(fromIssuer: { _ in true }, subject: "4711") == nil)
    #expect(owner.change(fromIssuer: { _ in true }, subject: "47110") == .subjectChanged)
  }
}
