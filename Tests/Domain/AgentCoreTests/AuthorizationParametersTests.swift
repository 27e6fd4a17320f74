import AgentCore
import Testing

@Suite struct AuthorizationParametersTests {
  @Test(arguments: [
    "audience", "access_type", "domain_hint", "kc_idp_hint", "ui_locales", "hd", "token_access_type",
    "subject_token_type", "a",
  ])
  func furtherParameter_isTaken(name: String) {
    #expect(AuthorizationParameters.refusal(of: name, "value") == nil)
  }

  @Test(
    arguments: [
      "client_id", "redirect_uri", "response_type", "response_mode", "state", "nonce", "scope", "code_challenge",
      "code_challenge_method", "code_challenge_x", "request", "request_uri", "resource", "dpop_jkt", "login_hint",
      "prompt", "max_age", "acr_values", "claims", "authorization_details", "client_secret", "client_assertion",
      "device_code", "subject_token", "actor_token", "Client_ID", "PROMPT", "Code_Challenge",
    ])
  func parameterOfTheProtocol_isRefusedWithoutRegardToCase(name: String) {
    #expect(AuthorizationParameters.refusal(of: name, "value") == .ownedByTheProtocol)
  }

  @Test(arguments: ["", "a b", "a=b", "a&b", "ä", "a\n", "a[]", String(repeating: "a", count: 65)])
  func nameOutsideOfTheAlphabet_isRefused(name: String) {
    #expect(AuthorizationParameters.refusal(of: name, "value") == .name)
  }

  @Test(
    arguments: [
      "", "a\nb", "a\u{0}", "\u{7F}", "\u{85}", "\u{202E}x", "\u{2028}", "\u{200B}",
      String(repeating: "a", count: 1025),
    ])
  func valueWithControlCharactersOrTooLong_isRefused(value: String) {
    #expect(AuthorizationParameters.refusal(of: "audience", value) == .value)
  }

  @Test func longestNameAndValue_areTaken() {
    let (name, value) = (String(repeating: "a", count: 64), String(repeating: "ä", count: 512))
    #expect(AuthorizationParameters.refusal(of: name, value) == nil)
  }
}
