public import AgentModel

/// The request that is durable before a refresh token leaves this machine, and not before its connection stands
/// (docs/tokens.md, Journal). It holds no secret.
public struct ExchangeIntent: Sendable, Hashable {
  public var attempt: UInt64
  /// The account's epoch; a sign-in or sign-out begins the next one.
  public var epoch: UInt64
  public var generation: UInt64
  /// The fingerprint of the refresh token that is about to be sent.
  public var fingerprint: String
  public var wall: Timestamp
  public var bootID: String
  /// When it was written, and in an answered request, when the request left.
  public var boot: BootInstant
  public var key: TokenKey
  public var isReplay: Bool
  /// The replays before it that got no answer.
  public var lostReplays: Int
  /// True from just before the request may leave. While it is false the request was not sent.
  public var isLeaving: Bool
  /// In a replay: the sending of the request in doubt, whose place in the journal the replay takes.
  public var firstSent: Sending?
  /// Known to the sealed journal and to the run that sends it: an answer without it belongs to another request.
  public var nonce: [UInt8]

  public static let nonceBytes = 16

  /// The moment of a sending, in one boot of the machine.
  public struct Sending: Sendable, Hashable {
    public var bootID: String
    public var boot: BootInstant

    public init(bootID: String, boot: BootInstant) {
      self.bootID = bootID
      self.boot = boot
    }
  }

  public init(
    attempt: UInt64, epoch: UInt64, generation: UInt64, fingerprint: String, wall: Timestamp, bootID: String,
    boot: BootInstant, key: TokenKey, isReplay: Bool, lostReplays: Int = 0, isLeaving: Bool = false,
    firstSent: Sending? = nil,
    nonce: [UInt8]
  ) {
    self.attempt = attempt
    self.epoch = epoch
    self.generation = generation
    self.fingerprint = fingerprint
    self.wall = wall
    self.bootID = bootID
    self.boot = boot
    self.key = key
    self.isReplay = isReplay
    self.lostReplays = lostReplays
    self.isLeaving = isLeaving
    self.firstSent = firstSent
    self.nonce = nonce
  }
}

extension ExchangeIntent {
  /// True if the journal proves after a restart that the request was not sent. The mark survives the death of the process
  /// and not that of the machine: in another boot its absence proves nothing.
  func wasNeverSent(asReadIn bootID: String) -> Bool { !isLeaving && self.bootID == bootID }

  /// The request whose outcome is unknown after a restart: this one, or if it was never sent and is a replay, the one
  /// before it. Nil if nothing is in doubt. It is marked, so that a later reading needs no boot id to know it.
  func doubt(asReadIn bootID: String) -> ExchangeIntent? {
    var doubt = self
    doubt.isLeaving = true
    guard wasNeverSent(asReadIn: bootID) else { return doubt }
    guard isReplay else { return nil }
    (doubt.isReplay, doubt.firstSent) = (false, nil)
    doubt.bootID = firstSent?.bootID ?? ""
    doubt.boot = firstSent?.boot ?? boot
    return doubt
  }
}
