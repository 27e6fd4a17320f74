internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentProtocol
internal import AgentRecords
internal import AgentSessions
internal import AgentSignIn
internal import AgentStore
internal import AgentWire
internal import JSONRPC
internal import SecretJSON
internal import Secrets

enum SignInBeginHandler: MethodHandler {
  typealias Method = SignInBegin

  static func handle(_ params: SignInBegin.Params, _ call: Call) async throws(AgentFailure) -> SignInBegin.Result {
    var wishes = SignInJob.Wishes(
      alias: params.alias, scopes: params.scopes, prompt: params.prompt,
      details: try params.authorizationDetails.flatMap { (objects) throws(AgentFailure) in
        try AuthorizationDetails.requested(objects)
      }, authentication: try authentication(params))
    if params.prompt != nil, params.flow == .device {
      // RFC 8628 has no such parameter. A client that asks for a new login must not believe that there was one.
      throw .invalidParameter("/prompt", expected: "no prompt with the flow device, which has none")
    }
    // One that is limited to some scopes or resources can neither widen nor narrow what the person's session has.
    if params.scopes != nil || params.authorizationDetails != nil, call.limits?.permission.limitsTokens == true {
      throw .caller(.notCovered)
    }
    await call.agent.lookAgain()
    if let selector = params.account {
      let profile = try await call.agent.vault.profile(call.pinned(selector))
      guard profile.provider == params.provider else {
        throw .invalidParameter("/provider", expected: "the provider of the account that signs in again")
      }
      // No proof would show that a caller which completes the page itself made the account another person's.
      guard !profile.identity.isUnproven || call.limits == nil else { throw .caller(.notCovered) }
      wishes.account = profile.id
      if params.authorizationDetails == nil {
        wishes.details = await call.agent.vault.requestedDetails(of: profile)
      }
      if params.scopes == nil { wishes.scopes = await call.agent.vault.scopesToKeep(of: profile) }
      wishes.loginHint = profile.loginHint
      await answer(call.agent.demands.last(of: profile.id), of: profile, params, &wishes, call)
    }
    let begun = try await call.agent.signIns.begin(
      SignInFlow(params.flow), provider: params.provider.text, wishes: wishes)
    if params.announce == true {
      call.agent.events.publish(
        .signInRequested(provider: params.provider, signIn: begun.id, client: call.client.name),
        about: wishes.account)
    }
    if params.openBrowser == true { call.agent.environment.browser.open(begun.page.url) }
    var result = SignInBegin.Result(signIn: begun.id, flow: params.flow, expiresAt: begun.expiresAt)
    switch begun.page {
    case .authorization(let url): result.authorizationUrl = url
    case .device(let device):
      result.verificationUri = device.verificationURI
      result.verificationUriComplete = device.verificationURIComplete
      result.userCode = device.userCode
      result.intervalSeconds = Int(device.interval.wholeSeconds)
    }
    return result
  }
}

extension SignInBeginHandler {
  /// Asks for what a server or the provider demanded last of this account, as far as the caller says nothing of it.
  private static func answer(
    _ demand: InteractionDemand?, of profile: AccountProfile, _ params: SignInBegin.Params,
    _ wishes: inout SignInJob.Wishes, _ call: Call
  ) async {
    guard let demand else { return }
    // What another demanded is nothing that a limited caller may ask for.
    if params.scopes == nil, !demand.scopes.isEmpty, call.limits?.permission.limitsTokens != true {
      wishes.scopes = await call.agent.vault.scopes(of: profile, adding: demand.scopes)
      wishes.answersDemand = true
    }
    // A code on another device has no such parameters.
    guard params.flow != .device, params.acrValues == nil, params.maxAgeSeconds == nil, params.claims == nil else {
      return
    }
    wishes.authentication = RequestedAuthentication(
      acrValues: demand.acrValues, maxAgeSeconds: demand.maxAgeSeconds, claims: demand.claims.flatMap(claimsRequest))
    wishes.answersDemand = true
  }

  private static func authentication(_ params: SignInBegin.Params) throws(AgentFailure) -> RequestedAuthentication {
    let wanted = [
      ("/acrValues", params.acrValues != nil), ("/maxAgeSeconds", params.maxAgeSeconds != nil),
      ("/claims", params.claims != nil),
    ]
    if params.flow == .device, let (path, _) = wanted.first(where: \.1) {
      throw .invalidParameter(path, expected: "nothing with the flow device, which has no such parameter")
    }
    var claims: String?
    if let text = params.claims {
      claims = claimsRequest(text)
      if claims == nil { throw .invalidParameter("/claims", expected: "a JSON object, as text or in Base64url") }
    }
    return RequestedAuthentication(
      acrValues: params.acrValues ?? [], maxAgeSeconds: params.maxAgeSeconds.map { Int64($0) }, claims: claims)
  }

  /// Microsoft Entra's challenges have the object in Base64url, padded or not.
  private static func claimsRequest(_ text: String) -> String? {
    var json = text
    if !text.contains("{") {
      let digits = text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" }
      guard let bytes = Base64URL.decode(String(digits)), let decoded = String(validating: bytes, as: UTF8.self)
      else { return nil }
      json = decoded
    }
    let isObject = SecretJSON.read(Secret(text: json), duplicateKeys: .allowed) { $0.kind == .object }
    return isObject == true ? json : nil
  }
}

extension AccountProfile {
  /// The hint that the provider's page may fill in (OpenID Connect Core §3.1.2.1). Many providers let people sign in by
  /// a name of one word; "Alice Archer" is not one.
  fileprivate var loginHint: String? { email ?? displayName.flatMap { $0.contains(" ") ? nil : $0 } }
}

enum SignInWaitHandler: MethodHandler {
  typealias Method = SignInWait

  static func handle(_ params: SignInWait.Params, _ call: Call) async throws(AgentFailure) -> SignInWait.Result {
    // The end of the caller's patience is an answer here: `pending`.
    let now = call.agent.environment.clock.boot()
    let deadline = params.timeoutSeconds.map { now + .seconds(Int64($0)) }
    let status = try await call.agent.signIns.wait(params.signIn, until: deadline)
    return try answer(params.signIn, status, await call.agent.signIns.refusals(of: params.signIn))
  }

  /// Not inlined: what it needs would take its place in the memory of every caller that waits.
  @inline(never) private static func answer(
    _ id: String, _ status: SignInJob.Status, _ refusals: SignInJob.Refusals
  ) throws(AgentFailure) -> SignInWait.Result {
    guard case .pending = status else { return try WireSignInProgress(id, status) }
    if Task.isCancelled { throw .cancelled }
    var progress = try WireSignInProgress(id, status)
    if let last = refusals.last {
      progress.refused = refusals.count
      progress.refusedBecause = WireRedirectRefusal(rawValue: last.rawValue)
    }
    return progress
  }
}

enum SignInCompleteHandler: MethodHandler {
  typealias Method = SignInComplete

  static func handle(_ params: SignInComplete.Params, _ call: Call) async throws(AgentFailure) -> SignInComplete.Result
  {
    let agent = call.agent
    // The work is the agent's: a caller that goes away must not lose what the provider has issued.
    let status = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.signIns.complete(params.signIn, with: params.redirectUrl)
    }
    return try WireSignInProgress(params.signIn, status)
  }
}

extension WireSignInProgress {
  /// Throws the failure of a sign-in to the caller that asks about it.
  init(_ id: String, _ status: SignInJob.Status) throws(AgentFailure) {
    switch status {
    case .pending: self.init(signIn: id, status: .pending)
    case .completed(let account): self.init(signIn: id, status: .completed, account: account)
    case .failed(let error): throw error
    }
  }
}

enum SignInCancelHandler: MethodHandler {
  typealias Method = SignInCancel

  static func handle(_ params: SignInCancel.Params, _ call: Call) async throws(AgentFailure) -> SignInCancel.Result {
    try await call.agent.signIns.cancel(params.signIn)
    return SignInCancel.Result(signIn: params.signIn)
  }
}

enum SignInImportHandler: MethodHandler {
  typealias Method = SignInImport

  static func handle(_ params: SignInImport.Params, _ call: Call) async throws(AgentFailure) -> SignInImport.Result {
    let agent = call.agent
    // The work is the agent's: a caller that goes away must not lose a token that the provider has rotated.
    let account = try await agent.background.finish { () async throws(AgentFailure) in
      try await agent.introductions.pass(params.provider.text) { () async throws(AgentFailure) in
        try await agent.signIns.takeOver(
          params.refreshToken, provider: params.provider.text, alias: params.alias, by: call.limits)
      }
    }
    return SignInImport.Result(account: account)
  }
}
