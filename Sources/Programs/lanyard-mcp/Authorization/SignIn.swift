internal import AgentCore
internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import MCPBridge
internal import StreamingHTTP
internal import Synchronization

/// Begins a sign-in for a request that can't be carried out without one, once for all bridges of the server. The sign-in
/// goes on in the agent; the client is told at once what the person has to do.
struct SignIn {
  private let authorizer: Authorizer
  private let outgoing: Outgoing
  private var options: Options { authorizer.options }
  private var link: AgentPool { authorizer.link }

  init(_ authorizer: Authorizer, _ outgoing: Outgoing) {
    self.authorizer = authorizer
    self.outgoing = outgoing
  }

  /// The server demands a token, or takes none of the account's. True if an account has come meanwhile.
  func first(
    _ challenges: [AuthenticationChallenge], _ account: ServerAccount?, _ refused: Credential?,
    _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    let file = try SignInFile(server: options.url.text, outgoing.cancellation)
    if try hasCome(refused, &attempt) { return true }
    try tellPending(file, of: account)
    try limit()
    let metadata = try MetadataReader(
      client: authorizer.client, trust: authorizer.trust(), server: options.url, cancellation: outgoing.cancellation
    ).read(challenges, refused)
    let issuer = metadata.authorizationServers[0]
    authorizer.metadataNames(issuer: issuer, resource: metadata.resource)
    let isOfIt = account?.provider.isOf(issuer, metadata.resource) == true
    // The account may be of the authorization server and the resource that are named now.
    if !isOfIt, try hasCome(refused, &attempt) { return true }
    let challenged = ScopeChoice.challenged(challenges)
    if let account, isOfIt {
      let more = challenged.map { ScopeChoice.union(account.provider.scopes, refused?.scopes ?? [], $0) }
      throw try begun(BegunSignIn(provider: account.provider.name, account: account, scopes: more), file)
    }
    guard options.account == nil else {
      throw BridgeFailure(
        BridgeFailure.Code.authorizationFailed, "accountRefused",
        "The server accepts no token of the account \(options.account ?? ""). Leave out --account to sign in to it.")
    }
    let provider = try ProviderSetup(authorizer: authorizer, metadata: metadata, issuer: issuer)
      .provider(challenged: challenged)
    throw try begun(BegunSignIn(provider: provider.name, account: nil, scopes: nil), file)
  }

  /// The account has to sign in again. True if it has meanwhile.
  func again(
    _ account: ServerAccount, demanded: CommandFailure, _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    let file = try SignInFile(server: options.url.text, outgoing.cancellation)
    if !attempt.hasFoundSignIn, (try? authorizer.credential(of: account, for: outgoing.method)) != nil {
      attempt.hasFoundSignIn = true
      return true
    }
    try tellPending(file, of: account)
    try limit()
    throw try begun(
      BegunSignIn(provider: account.provider.name, account: account, scopes: nil, demanded: demanded), file)
  }

  /// The token has too few scopes. True if there is one with others meanwhile.
  func stepUp(
    _ account: ServerAccount, _ challenges: [AuthenticationChallenge], _ refused: Credential,
    _ attempt: inout AuthorizationAttempt
  ) throws(BridgeFailure) -> Bool {
    let file = try SignInFile(server: options.url.text, outgoing.cancellation)
    if try hasCome(refused, &attempt) { return true }
    try tellPending(file, of: account)
    try limit()
    let scopes = ScopeChoice.union(
      account.provider.scopes, authorizer.requestedScopes, refused.scopes, ScopeChoice.challenged(challenges) ?? [])
    throw try begun(BegunSignIn(provider: account.provider.name, account: account, scopes: scopes), file)
  }

  // MARK: what happened meanwhile

  /// There is another token than the refused one, or one at all: another bridge or a command has signed in.
  private func hasCome(_ refused: Credential?, _ attempt: inout AuthorizationAttempt) throws(BridgeFailure) -> Bool {
    guard !attempt.hasFoundSignIn, let account = try authorizer.lookUp(),
      let credential = try? authorizer.credential(of: account, for: outgoing.method),
      credential.fingerprint != refused?.fingerprint
    else { return false }
    attempt.hasFoundSignIn = true
    attempt.hasRejected = false
    return true
  }

  /// - Throws: the error that the client gets while a sign-in goes on.
  private func tellPending(_ file: borrowing SignInFile, of account: ServerAccount?) throws(BridgeFailure) {
    // The sign-in of another account does not help this one.
    guard let pending = file.pending(), account == nil || pending.account == nil || pending.account == account?.id
    else {
      return
    }
    do throws(CommandFailure) {
      let isPending = try link.call("signIn.wait") { writer in
        writer.member("signIn", pending.signIn)
        writer.member("timeoutSeconds", 0)
      } result: {
        $0["status"]?.string == "pending"
      }
      guard isPending else { return }
    } catch {
      if error.name != "notFound", error.status != .noAgent {
        Output.warning("The last sign-in failed: \(Text.shown(error.message))")
      }
      return file.write(nil)
    }
    authorizer.show(pending)
    throw Self.needed(pending, isNew: false)
  }

  private func limit() throws(BridgeFailure) {
    guard !authorizer.mayAsk(for: outgoing.operation) else { return }
    throw BridgeFailure(
      BridgeFailure.Code.authorizationFailed, "insufficientScope",
      """
      The server refuses this request even after \(SignInCount.maximum) sign-ins. It may need rights that you do not \
      have.
      """)
  }

  // MARK: beginning

  /// Begins the sign-in, and returns the error for the client.
  private func begun(_ begun: BegunSignIn, _ file: borrowing SignInFile) throws(BridgeFailure) -> BridgeFailure {
    let pending: PendingSignIn
    do throws(CommandFailure) {
      pending = try begun.begin(via: link, opensBrowser: options.opensBrowser)
    } catch {
      throw ProviderSetup.failure(error, provider: begun.provider, options)
    }
    authorizer.asked(for: outgoing.operation, begun.scopes ?? [])
    file.write(pending)
    authorizer.show(pending)
    return Self.needed(pending, isNew: true)
  }

  private static func needed(_ pending: PendingSignIn, isNew: Bool) -> BridgeFailure {
    let command = pending.account.map { "lanyard login --account \($0)" } ?? "lanyard login \(pending.provider)"
    var failure = BridgeFailure(
      BridgeFailure.Code.signInNeeded, "signInNeeded",
      """
      Sign in first, then repeat this call: nothing was carried out. The page to open is on the stderr of lanyard mcp\
      \(isNew ? "" : ", where a sign-in is under way"); or run `\(command)` in a terminal.
      """)
    failure.data = [("provider", pending.provider), ("signIn", pending.signIn)]
    return failure
  }
}

/// A sign-in to begin at the agent.
struct BegunSignIn {
  var provider: String
  /// The account that signs in again.
  var account: ServerAccount?
  /// Nil: those of the provider, or of the account's last sign-in.
  var scopes: [String]?
  /// The error `interactionRequired` that names what the sign-in has to have.
  var demanded: CommandFailure?

  func begin(via link: AgentPool, opensBrowser: Bool) throws(CommandFailure) -> PendingSignIn {
    let demand = demanded?.wire.map { Demand($0) }
    return try link.call("signIn.begin", isRepeatable: false) { writer in
      writer.member("provider", provider)
      writer.member("flow", "browser")
      writer.member("account", account?.id)
      if let scopes { writer.member("scopes", scopes) }
      if let demand { demand.write(to: &writer) }
      writer.key("announce")
      writer.bool(true)
      writer.key("openBrowser")
      writer.bool(opensBrowser && Self.hasBrowser)
    } result: { (result) throws(CommandFailure) in
      guard let signIn = result["signIn"]?.string, let page = result["authorizationUrl"]?.string else {
        throw .notUnderstood
      }
      return PendingSignIn(provider: provider, signIn: signIn, page: page, account: account?.id)
    }
  }

  /// A browser on this machine that the person sees.
  private static var hasBrowser: Bool {
    Browser.canOpen() && Environment.value("SSH_CONNECTION") == nil && Environment.value("SSH_TTY") == nil
  }

  /// What a server demands of the sign-in (RFC 9470).
  private struct Demand {
    var acrValues: [String] = []
    var maxAgeSeconds: Int64?
    var claims: String?

    init(_ wire: String) {
      var wire = wire
      wire.withUTF8 { bytes in
        var tape = JSONTape()
        let bytes = UnsafeRawBufferPointer(bytes)
        guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return }
        tape.withRoot(of: bytes) { error in
          acrValues = error["data"]?["acrValues"]?.elements.compactMap(\.string) ?? []
          maxAgeSeconds = error["data"]?["maxAgeSeconds"]?.integer
          claims = error["data"]?["claims"]?.string
        }
      }
    }

    func write(to writer: inout JSONWriter) {
      if !acrValues.isEmpty { writer.member("acrValues", acrValues) }
      writer.member("maxAgeSeconds", maxAgeSeconds)
      writer.member("claims", claims)
    }
  }
}
