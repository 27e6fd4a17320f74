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
  /// Known to the sealed journal and to the run that sends it: an answer without it belongs to another request.
  public var nonce: [UInt8]

  public static let nonceBytes = 16

  public init(
    attempt: UInt64, epoch: UInt64, generation: UInt64, fingerprint: String, wall: Timestamp, bootID: String,
    boot: BootInstant, key: TokenKey, isReplay: Bool, nonce: [UInt8]
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
    self.nonce = nonce
  }
}
