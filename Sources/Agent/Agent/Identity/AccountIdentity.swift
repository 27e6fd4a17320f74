internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
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
      token.isVerified = token.isVerified || isKnown
      identity.keep(token, lifetime: token.issuedAt.map { token.expiresAt - $0 }, at: now)
    }
  }

  /// The ID token of a refresh, before the answer is stored. Without one in the answer `.none`.
  func judge(_ token: Secret?, of account: isolated Account) -> RefreshedIDToken {
    guard let token else { return .none }
    do throws(IDTokenFailure) {
      return .kept(try read(token, of: account))
    } catch {
      log(error, of: account)
      return .invalid(error)
    }
  }

  /// The answer to a refresh is durable.
  func adopt(_ idToken: RefreshedIDToken, for key: TokenKey, of account: isolated Account) {
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
    guard let profile = account.loaded?.profile, let now = now(of: account) else { throw .malformed }
    let keys = account.dependencies.keySets.keys(of: profile.provider, issuer: profile.issuedBy.issuer)
    return try KeptIDToken(
      token, of: profile, keys: keys, signatures: account.dependencies.environment.signatures, now: now)
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

  /// Checks the signature with keys that are read now.
  private func checkSignature(of account: isolated Account) async -> AgentFailure? {
    guard let facts = machine.unverified, let token = tokens[facts.serial] else { return nil }
    let keys: JWKSet?
    do throws(AgentFailure) {
      keys = try await Self.keys(of: account)
    } catch {
      return error
    }
    (held, failedChecks) = (nil, 0)
    var isValid = false
    do throws(IDTokenFailure) {
      let parsed = try token.secret.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
      guard let keys else { throw .keyNotFound }
      isValid = try keys.hasSigned(parsed, by: account.dependencies.environment.signatures)
      if !isValid { throw .signatureInvalid }
    } catch {
      log(error, of: account)
    }
    machine.checked(serial: facts.serial, isValid: isValid)
    wipe()
    return nil
  }

  private static func keys(of account: isolated Account) async throws(AgentFailure) -> JWKSet? {
    let provider = try await account.dependencies.vault.receiver(ofTokensOf: account.id)
    do throws(DocumentFailure) {
      return try await account.dependencies.client(of: provider).documents.readKeys(into: account.dependencies.keySets)
    } catch {
      throw account.identity.hold(error, of: account)
    }
  }

  /// Keys that could not be read are not asked for again at once.
  private func hold(_ failure: DocumentFailure, of account: isolated Account) -> AgentFailure {
    failedChecks += 1
    let jitter = account.dependencies.environment.entropy.fraction()
    let pause = max(Backoff.shortest, Backoff.pause(failures: failedChecks, jitter: jitter))
    let refusal: TokenMachine.Refusal =
      switch failure {
      case .offline: .offline(retryAfter: pause)
      case .untrusted(let reason): .untrustedServer(reason)
      case .unavailable, .malformed, .issuerMismatch, .redirected: .unavailable(retryAfter: pause)
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
