internal import AgentPorts
internal import AgentModel
internal import AgentProtocol

enum SignInBeginHandler: MethodHandler {
  typealias Method = SignInBegin

  static func handle(_ params: SignInBegin.Params, _ call: Call) async throws(RPCError) -> SignInBegin.Result {
    guard params.flow == .browser else {
      throw .invalidParams("/flow", expected: "a flow that agent.hello lists among its features: browser")
    }
    var wishes = SignInJob.Wishes(alias: params.alias, scopes: params.scopes, prompt: params.prompt)
    if let selector = params.account {
      let profile = try await call.agent.registry.profile(selector)
      guard profile.provider == params.provider else {
        throw .invalidParams("/provider", expected: "the provider of the account that signs in again")
      }
      wishes.account = profile.id
      wishes.loginHint = profile.email
    }
    let begun = try await call.agent.signIns.begin(provider: params.provider.text, wishes: wishes)
    if params.openBrowser == true { call.agent.environment.browser.open(begun.authorizationURL) }
    return SignInBegin.Result(
      signIn: begun.id, flow: .browser, authorizationUrl: begun.authorizationURL, expiresAt: begun.expiresAt)
  }
}
