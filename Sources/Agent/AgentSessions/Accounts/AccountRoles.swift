internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// The credentials of roles of one account, in memory and sealed, and the exchanges in flight: one for each role, which
/// all its callers share (docs/desktop.md, AWS). A part of `Account`, to which all its functions are isolated.
final class AccountRoles {
  /// What the ID token has left at least when it leaves.
  private static let tokenLifetime = Milliseconds.seconds(60)

  private var machine = DerivedTokens<RoleSession>()
  private var credentials: [UInt64: (kept: KeptRole, expiresAt: BootInstant)] = [:]
  private var serials: UInt64 = 0
  private let flights = AccountFlights<RoleSession, UInt64>("roles of one account")
  /// True once the sealed credentials are in memory.
  private var isOpen = false
  /// Counts sign-ins and sign-outs: a flight that began before belongs to another session.
  private var session: UInt64 = 0

  subscript(serial: UInt64) -> (kept: KeptRole, expiresAt: BootInstant)? { credentials[serial] }

  func wanted(_ role: RoleSession, at now: BootInstant) -> DerivedTokenStep { machine.wanted(role, at: now) }
  func live(_ role: RoleSession, at now: BootInstant) -> UInt64? { machine.live(role, at: now) }
  func forgetFailures() { machine.forgetFailures() }

  /// Wipes the credentials, and answers the callers that wait with `error`.
  func forget(telling error: AgentFailure) {
    session += 1
    machine = DerivedTokens()
    credentials = [:]
    isOpen = false
    flights.endAll(error)
  }

  /// Reads the sealed credentials, unless they are in memory.
  static func open(of account: isolated Account) async throws(AgentFailure) {
    let roles = account.roles
    while !roles.isOpen {
      guard let profile = account.loaded?.profile else { throw .locked }
      let session = roles.session
      let kept = try await account.dependencies.vault.read { vault throws(AgentFailure) in
        try vault.roles.read(profile)
      }
      guard session == roles.session, !roles.isOpen else { continue }
      guard account.loaded?.profile.epoch == profile.epoch else { throw .locked }
      roles.isOpen = true
      let now = account.dependencies.time.now(for: profile.provider)
      for (role, kept) in kept.all where kept.expiresAt > now {
        roles.keep(kept, for: role, left: min(kept.expiresAt - now, kept.lifetime), of: account)
      }
    }
  }

  /// Joins the exchange in flight for this role, or begins one. Returns the serial of the credentials.
  static func ask(_ role: RoleSession, of account: isolated Account) async throws(AgentFailure) -> UInt64 {
    let session = account.roles.session
    return try await AccountFlights.ask(role, of: account, at: { $0.roles.flights }) { account in
      await fly(role, session, of: account)
    }
  }

  private static func fly(_ role: RoleSession, _ session: UInt64, of account: isolated Account) async {
    let result: Result<(RoleCredentials, sentAt: BootInstant), AgentFailure>
    do throws(AgentFailure) {
      result = .success(try await exchange(role, session, of: account))
    } catch {
      result = .failure(error)
    }
    // The account was signed out, or signed in again: its callers were answered, and the credentials belong to no one.
    guard account.roles.session == session else { return }
    switch result {
    case .success(let (credentials, sentAt)):
      let kept = await keep(credentials, sentAt: sentAt, for: role, session, of: account)
      // Another session may have a flight of its own for this role by now.
      guard account.roles.session == session else { return }
      account.roles.flights.end(role, kept)
    case .failure(let failure): account.roles.flights.end(role, .failure(failure))
    }
  }

  private static func exchange(
    _ role: RoleSession, _ session: UInt64, of account: isolated Account
  ) async throws(AgentFailure) -> (RoleCredentials, sentAt: BootInstant) {
    var token = try await account.idToken(minimumLifetime: tokenLifetime)
    var isReplaced = false
    while true {
      guard account.roles.session == session else { throw .token(.signedOut, account.id) }
      let service = RoleExchange(role, via: account.dependencies.environment.http)
      switch await service.send(token.secret, now: account.clock.wall()) {
      case .credentials(let credentials, let sentAt): return (credentials, sentAt)
      case .tokenRefused(let code) where !isReplaced:
        isReplaced = true
        guard let other = try await otherToken(than: token, of: account) else {
          throw account.roles.failed(role, .misconfigured(code), session, of: account)
        }
        token = other
      case .tokenRefused(let code), .refused(let code):
        throw account.roles.failed(role, .misconfigured(code), session, of: account)
      case .failed(let failure): throw account.roles.failed(role, failure, session, of: account)
      }
    }
  }

  /// A token that was issued later; nil if the provider gives none.
  private static func otherToken(
    than refused: IDTokenAnswer, of account: isolated Account
  ) async throws(AgentFailure) -> IDTokenAnswer? {
    do throws(AgentFailure) {
      _ = try await account.answer(to: .forced, for: .standard)
      let token = try await account.idToken(minimumLifetime: tokenLifetime)
      return token.secret.equals(refused.secret) ? nil : token
    } catch {
      guard case .identityLacks = error else { throw error }
      return nil
    }
  }

  private static func keep(
    _ credentials: RoleCredentials, sentAt: BootInstant, for role: RoleSession, _ session: UInt64,
    of account: isolated Account
  ) async -> Result<UInt64, AgentFailure> {
    let roles = account.roles
    guard let profile = account.loaded?.profile else { return .failure(.locked) }
    let left = sentAt + credentials.lifetime - account.clock.boot()
    guard left > .zero else {
      let failure = ExchangeFailure.transient(TokenMachine.noUsableToken, retryAfter: nil)
      return .failure(roles.failed(role, failure, session, of: account))
    }
    let kept = KeptRole(
      accessKeyID: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey,
      sessionToken: credentials.sessionToken,
      expiresAt: account.dependencies.time.now(for: profile.provider) + left, lifetime: credentials.lifetime)
    let serial = roles.keep(kept, for: role, left: left, of: account)
    // A full disk costs one exchange after the next start, and no caller its answer.
    _ = try? await account.dependencies.vault.commitIfOpen { vault throws(AgentFailure) in
      try vault.roles.keep(kept, for: role, of: profile.id, epoch: profile.epoch)
    }
    return .success(serial)
  }

  @discardableResult
  private func keep(
    _ kept: KeptRole, for role: RoleSession, left: Milliseconds, of account: isolated Account
  ) -> UInt64 {
    let now = account.clock.boot()
    serials += 1
    credentials[serials] = (kept, now + left)
    let facts = DerivedTokenFacts(
      serial: serials, lifetime: kept.lifetime, lead: RoleLeadTime.of(lifetime: kept.lifetime),
      expiresAt: now + left, fingerprint: Fingerprint.of(kept.sessionToken))
    machine.brought(role, facts, at: now)
    let live = machine.serials
    credentials = credentials.filter { live.contains($0.key) }
    return facts.serial
  }

  /// Remembers the failure, and returns what the callers are told.
  private func failed(
    _ role: RoleSession, _ failure: ExchangeFailure, _ session: UInt64, of account: isolated Account
  ) -> AgentFailure {
    guard self.session == session else { return .token(.signedOut, account.id) }
    let pause = machine.failed(role, failure, of: account, logging: "role exchange failed")
    return .role(failure, retryAfter: pause, account.id)
  }
}

extension AgentFailure {
  /// A failed exchange for a role, for its caller.
  static func role(_ failure: ExchangeFailure, retryAfter pause: Milliseconds, _ id: AccountID) -> AgentFailure {
    if case .misconfigured(let code) = failure { return .roleRefused(code, id) }
    return .exchange(failure, retryAfter: pause, id)
  }
}
