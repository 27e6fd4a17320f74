public import AgentModel

/// Chooses the ID token that answers a caller, and tells when a refresh is due (docs/identity.md, ID tokens). It holds
/// no token: the shell keeps the bytes, by serial. Instants are on the provider's timeline.
public struct IDTokenMachine: Hashable, Sendable {
  public struct Facts: Hashable, Sendable {
    public var serial: UInt64
    public var expiresAt: Timestamp
    /// From the moment of its answer, or of its `iat`, to its expiry.
    public var lifetime: Milliseconds

    public init(serial: UInt64, expiresAt: Timestamp, lifetime: Milliseconds) {
      self.serial = serial
      self.expiresAt = expiresAt
      self.lifetime = lifetime
    }

    /// As for access tokens: a token that never lives as long as the caller wants is judged by its lead time instead,
    /// or each call would make an exchange.
    func serves(_ minimum: Milliseconds, at now: Timestamp) -> Bool {
      minimum < lifetime ? now + minimum <= expiresAt : now < expiresAt + (.zero - LeadTime.of(lifetime: lifetime))
    }
  }

  /// Why a refresh brings no ID token. The raw values are `data.reason` on the wire.
  public enum Lack: String, Hashable, Sendable {
    case noIDToken = "noIdToken"
    case invalidIDToken = "invalidIdToken"
  }

  public enum Step: Hashable, Sendable {
    case answer(serial: UInt64)
    /// Check the signature of this token first.
    case verify(serial: UInt64)
    case refresh
    case refuse(Lack)
  }

  /// The newest token whose signature was checked.
  public private(set) var verified: Facts?
  /// A newer one whose signature was not checked yet.
  public private(set) var unverified: Facts?
  /// The last refresh brought none. Remembered, so that callers cause no further refresh.
  public private(set) var lack: Lack?

  public init() {}

  /// The tokens that may still be answered; the shell wipes all others.
  public var serials: Set<UInt64> { Set([verified, unverified].compactMap { $0?.serial }) }

  /// - Parameter isLast: the caller has waited for a refresh already, and causes no second one.
  public func step(minimum: Milliseconds, isLast: Bool, at now: Timestamp) -> Step {
    if let verified, verified.serves(minimum, at: now) { return .answer(serial: verified.serial) }
    if let unverified, unverified.serves(minimum, at: now) { return .verify(serial: unverified.serial) }
    if let lack { return .refuse(lack) }
    guard isLast else { return .refresh }
    if let unverified, now < unverified.expiresAt { return .verify(serial: unverified.serial) }
    return live(at: now).map { .answer(serial: $0) } ?? .refuse(.noIDToken)
  }

  /// The verified token, if it has not expired. It is the answer where a refresh fails, whatever its lifetime.
  public func live(at now: Timestamp) -> UInt64? {
    verified.flatMap { now < $0.expiresAt ? $0.serial : nil }
  }

  /// A token was stored: by the sign-in or by a refresh.
  public mutating func brought(_ token: Facts, isVerified: Bool, at now: Timestamp) {
    guard now < token.expiresAt else {
      lack = .noIDToken
      return
    }
    lack = nil
    if isVerified {
      (verified, unverified) = (token, nil)
    } else {
      unverified = token
    }
  }

  /// A refresh brought no token, or one that must not be given out.
  public mutating func broughtNone(_ lack: Lack) { self.lack = lack }

  /// The signature was checked, for the first time or again. A token that another has replaced meanwhile changes nothing.
  public mutating func checked(serial: UInt64, isValid: Bool) {
    // Its key was withdrawn: a refresh may bring one that is signed by another.
    if verified?.serial == serial, !isValid { verified = nil }
    guard let token = unverified, token.serial == serial else { return }
    unverified = nil
    if isValid { verified = token } else { lack = .invalidIDToken }
  }

  /// The provider was configured anew, so that a refresh may bring a token now.
  public mutating func reconfigured() { lack = nil }
}
