internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentProtocol

/// Answers after a resource refused a token: with the current token if the refused one was older, otherwise with the
/// result of one forced exchange.
enum TokenRejectHandler: MethodHandler {
  typealias Method = TokenReject

  static func handle(_ params: TokenReject.Params, _ call: Call) async throws(AgentFailure) -> TokenReject.Result {
    let account = try await call.agent.accounts.actor(params.account)
    if let challenge = params.challenge, let claims = StepUpChallenge.claims(in: challenge) {
      // No exchange can answer this: the provider wants the person (RFC 9470 §3).
      throw .token(.interaction(claims: claims.isEmpty ? nil : claims), account.id)
    }
    if let exchanged = try await account.replacementOfDerived(
      params.fingerprint, within: call.limits?.permission)
    {
      return WireToken(exchanged)
    }
    return WireToken(try await account.replacement(of: params.fingerprint, within: call.limits?.permission))
  }
}

/// Reads from a `WWW-Authenticate` value whether the resource requires another authentication of the person.
enum StepUpChallenge {
  /// The requested claims, empty if the challenge does not name them; nil if a new token may be enough.
  static func claims(in challenge: String) -> String? {
    guard let error = parameter("error", in: challenge) else { return nil }
    guard error == "insufficient_user_authentication" || error == "insufficient_claims" else { return nil }
    return parameter("claims", in: challenge) ?? ""
  }

  /// An auth-param (RFC 9110 §11.2), quoted or not.
  private static func parameter(_ name: String, in challenge: String) -> String? {
    var rest = challenge[...]
    while let start = rest.firstIndex(of: "=") {
      let key = rest[..<start].split(whereSeparator: { " ,\t".contains($0) }).last.map(String.init) ?? ""
      rest = rest[rest.index(after: start)...]
      var value = ""
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
          if character == "\\", let next = rest.popFirst() { value.append(next) } else { value.append(character) }
        }
      } else {
        value = String(rest.prefix { !" ,\t".contains($0) })
        rest = rest.dropFirst(value.count)
      }
      if key.lowercased() == name { return value }
    }
    return nil
  }
}
