internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import AgentVault
internal import Secrets

/// The ID tokens of one account, by the serials that `IDTokenMachine` refers to (docs/identity.md, ID tokens). The
/// bytes are read from the vault when a caller first wants one: most accounts are never asked. A part of `Account`, to which
/// all its functions are isolated.
final class AccountIdentity {
  private typealias Check = CheckedContinuation<AgentFailure?, Never>

  private(set) var machine = IDTokenMachine()
  private var tokens: [UInt64: KeptIDToken] = [:]
  private var serials: UInt64 = 0
  /// True once the stored ID token is in memory.
  private var isOpen = false
  /// Counts what replaced the stored ID token, so that a slow read is detected as outdated.
  private var changes: UInt64 = 0
  /// The callers that wait for the check of a signature.
  private var waiting: [UInt64: Check] = [:]
  private var lastWaiter: UInt64 = 0
  private var isChecking = false
  private var failedChecks = 0
  /// The failure of the last check, until the keys are asked for again.
  private var held: (failure: AgentFailure, until: BootInstant)?

  subscript(serial: UInt64) -> KeptIDToken? { tokens[serial] }

  /// False if the account never had an ID token, as far as its record knows.
  private(set) var wasIssued = false

  // MARK: what is stored

  /// Reads the stored ID token, unless it is in memory.
  static func open(of account: isolated Account) async throws(AgentFailure) {
    let identity = account.identity
    while !identity.isOpen {
      guard let profile = account.loaded?.profile else { throw .locked }
      let change = identity.changes
      let found = try await account.dependencies.vault.read { vault throws(AgentFailure) in
        try vault.journal.load(profile)
      }
      guard change == identity.changes, !identity.isOpen else { continue }
      guard account.loaded?.profile.epoch == profile.epoch else { throw .locked }
      identity.isOpen = true
      identity.wasIssued = found?.idToken != nil
      guard let stored = found?.idToken, let now = identity.now(of: account) else { continue }
      let isKnown = Fingerprint.of(stored) == found?.grant.verifiedIDToken
      guard var token = try? identity.read(stored, of: account) else { continue }
      if isKnown, token.proof == .none { token.proof = .beforeThisStart }
      identity.keep(token, lifetime: token.issuedAt.map { token.expiresAt - $0 }, at: now)
    }
  }

  /// The ID token of a refresh, before the answer is stored. Without one in the answer `.none`.
  static func judge(_ token: Secret?, of account: isolated Account) -> RefreshedIDToken {
    guard let token else { return .none }
    let identity = account.rareParts.identity ?? AccountIdentity()
    do throws(IDTokenFailure) {
      return .kept(try identity.read(token, of: account))
    } catch {
      identity.log(error, of: account)
      return .invalid(error)
    }
  }

  /// The answer to a refresh is durable. Where no caller has wanted an ID token so far, the first one reads it.
  static func adopt(_ idToken: RefreshedIDToken, for key: TokenKey, of account: isolated Account) {
    if case .kept = idToken, account.rareParts.identity == nil { return }
    account.identity.adopt(idToken, for: key, of: account)
  }

  private func adopt(_ idToken: RefreshedIDToken, for key: TokenKey, of account: isolated Account) {
    changes += 1
    switch idToken {
    case .kept(let token):
      wasIssued = true
      guard let now = now(of: account) else { return }
      if isOpen { keep(token, lifetime: token.expiresAt - now, at: now) } else { machine.reconfigured() }
    // A request for fewer scopes brings none, and says nothing of others.
    case .none: if key == .standard { machine.broughtNone(.noIDToken) }
    case .invalid(let failure): machine.broughtNone(failure == .expired ? .noIDToken : .invalidIDToken)
    }
  }

  func reconfigured() {
    machine.reconfigured()
    held = nil
  }

  /// Wipes the tokens. Without an error the callers that wait for a check look again.
  func forget(telling error: AgentFailure?) {
    changes += 1
    machine = IDTokenMachine()
    tokens = [:]
    (isOpen, wasIssued) = (false, false)
    (held, failedChecks) = (nil, 0)
    resume(error)
  }

  private func read(_ token: Secret, of account: isolated Account) throws(IDTokenFailure) -> KeptIDToken {
    guard let loaded = account.loaded, let now = now(of: account) else { throw .malformed }
    let keys = knownKeys(of: account)
    return try KeptIDToken(
      token, of: loaded.profile, nonce: loaded.grant.nonce, before: loaded.idTokenIdentity,
      // Keys that were read long ago may have been withdrawn: the first caller has them read again.
      keys: keys.flatMap { isRecent($0.readAt, of: account) ? $0 : nil },
      signatures: account.dependencies.environment.signatures, now: now)
  }

  private func knownKeys(of account: isolated Account) -> IssuerKeys? {
    account.loaded.flatMap {
      account.dependencies.keySets.keys(of: $0.profile.provider, issuer: $0.profile.issuedBy.issuer)
    }
  }

  private func isRecent(_ readAt: BootInstant, of account: isolated Account) -> Bool {
    account.clock.boot() < readAt + KeySets.lifetime
  }

  private func keep(_ token: KeptIDToken, lifetime: Milliseconds?, at now: Timestamp) {
    serials += 1
    tokens[serials] = token
    let facts = IDTokenMachine.Facts(
      serial: serials, expiresAt: token.expiresAt, lifetime: max(.zero, lifetime ?? token.expiresAt - now))
    machine.brought(facts, isVerified: token.isVerified, at: now)
    wipe()
  }

  private func wipe() {
    let serials = machine.serials
    tokens = tokens.filter { serials.contains($0.key) }
  }

  private func now(of account: isolated Account) -> Timestamp? {
    account.loaded.map { account.dependencies.time.now(for: $0.profile.provider) }
  }

  // MARK: checking a signature

  /// Waits for the check of the token that was not checked yet. All callers share one request for the keys.
  static func check(of account: isolated Account) async throws(AgentFailure) {
    let identity = account.identity
    if let held = identity.held, account.clock.boot() < held.until { throw held.failure }
    identity.lastWaiter += 1
    let waiter = identity.lastWaiter
    let failure: AgentFailure? = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: .cancelled) }
        identity.waiting[waiter] = continuation
        identity.beginCheck(of: account)
      }
    } onCancel: {
      account.dependencies.background.start { await leave(waiter, of: account) }
    }
    if let failure { throw failure }
  }

  private static func leave(_ waiter: UInt64, of account: isolated Account) {
    account.identity.waiting.removeValue(forKey: waiter)?.resume(returning: .cancelled)
  }

  private func beginCheck(of account: isolated Account) {
    guard !isChecking else { return }
    isChecking = true
    let isStarted = account.dependencies.background.start { await Self.runCheck(of: account) }
    if !isStarted {
      isChecking = false
      resume(.shuttingDown)
    }
  }

  private static func runCheck(of account: isolated Account) async {
    let identity = account.identity
    let change = identity.changes
    let failure = await identity.checkSignature(of: account)
    identity.isChecking = false
    // Another token came meanwhile, or the account was signed out: the callers look again.
    identity.resume(change == identity.changes ? failure : nil)
  }

  private func resume(_ failure: AgentFailure?) {
    let resumed = waiting.sorted { $0.key < $1.key }
    waiting = [:]
    for (_, caller) in resumed { caller.resume(returning: failure) }
  }

  /// Checks the signatures with keys that are read now.
  private func checkSignature(of account: isolated Account) async -> AgentFailure? {
    guard !tokens.isEmpty else { return nil }
    let change = changes
    let keys: IssuerKeys?
    do throws(AgentFailure) {
      keys = try await Self.keys(of: account)
    } catch {
      return error
    }
    (held, failedChecks) = (nil, 0)
    // The callers look again at what came meanwhile.
    if change == changes { judge(tokens.keys.sorted(), by: keys, of: account) }
    return nil
  }

  private func judge(_ serials: [UInt64], by keys: IssuerKeys?, of account: isolated Account) {
    for serial in serials {
      var isValid = false
      do throws(IDTokenFailure) {
        isValid = try tokens[serial]?.isSigned(by: keys, account.dependencies.environment.signatures) ?? false
        if !isValid { throw .signatureInvalid }
      } catch {
        log(error, of: account)
      }
      if isValid, let keys { tokens[serial]?.proof = .keys(readAt: keys.readAt) }
      machine.checked(serial: serial, isValid: isValid)
    }
    wipe()
  }

  /// Looks again at the keys of a token that was verified before: at those that were read since, for another account or a
  /// sign-in. Returns true if they have to be read anew before the token is given out.
  func mustReadKeys(for serial: UInt64, of account: isolated Account) -> Bool {
    guard let token = tokens[serial] else { return false }
    if let keys = knownKeys(of: account), isRecent(keys.readAt, of: account) {
      if token.proof != .keys(readAt: keys.readAt) { judge([serial], by: keys, of: account) }
      return false
    }
    return held.map { account.clock.boot() >= $0.until } ?? true
  }

  private static func keys(of account: isolated Account) async throws(AgentFailure) -> IssuerKeys? {
    let provider = try await account.dependencies.vault.receiver(ofTokensOf: account.id)
    let documents = account.dependencies.client(of: provider).documents
    let sets = account.dependencies.keySets
    let tokens = account.identity.tokens.values.map(\.secret)
    do throws(DocumentFailure) {
      guard let keys = try await documents.readKeys(into: sets) else { return nil }
      return await documents.withAlgorithms(of: tokens, keys, into: sets)
    } catch {
      throw account.identity.hold(error, of: account)
    }
  }

  /// Keys that could not be read are not asked for again at once.
  private func hold(_ failure: DocumentFailure, of account: isolated Account) -> AgentFailure {
    failedChecks += 1
    let jitter = account.dependencies.environment.entropy.fraction()
    let pause = Backoff.forCallers(
      max(Backoff.shortest, Backoff.pause(failures: failedChecks, jitter: jitter)), jitter: jitter)
    let refusal: TokenMachine.Refusal =
      switch failure {
      case .offline(let failure): .offline(failure, retryAfter: pause)
      case .untrusted(let reason): .untrustedServer(reason)
      case .unavailable, .malformed, .page, .issuerMismatch, .redirected: .unavailable(retryAfter: pause)
      }
    let told = AgentFailure.token(refusal, account.id)
    held = (told, account.clock.boot() + pause)
    return told
  }

  private func log(_ failure: IDTokenFailure, of account: isolated Account) {
    account.dependencies.environment.log.log(
      .notice, "ID token refused",
      [(.account, .hashed(account.id.text)), (.reason, .name(failure.rawValue))])
  }
}
