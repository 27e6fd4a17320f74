internal import AgentModel
internal import JSONRPC
internal import Secrets

/// What is durable before a refresh token leaves this machine (docs/tokens.md, Journal).
struct ExchangeIntent: Sendable, Hashable {
  var attempt: UInt64
  var epoch: UInt64
  var generation: UInt64
  /// Of the refresh token that is about to be sent.
  var fingerprint: String
  var wall: Timestamp
  var bootID: String
  var boot: BootInstant
  var key: TokenKey
  var isReplay: Bool
  /// Known to the sealed journal and to whoever sends it: what comes back without it is no answer to this request.
  var nonce: [UInt8]

  static let nonceBytes = 16

  var record: Secret {
    RecordCoding.write { writer in
      writer.member("attempt", Int64(attempt))
      writer.member("epoch", Int64(epoch))
      writer.member("generation", Int64(generation))
      writer.member("fingerprint", fingerprint)
      writer.member("wall", wall.milliseconds)
      writer.member("bootID", bootID)
      writer.member("boot", boot.milliseconds)
      key.writeMembers(to: &writer)
      writer.key("isReplay")
      writer.bool(isReplay)
      writer.member("nonce", Base64URL.encode(nonce))
    }
  }

  init(
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

  init?(_ plain: Secret) {
    let read = RecordCoding.read(plain) { node -> ExchangeIntent? in
      guard let attempt = node["attempt"]?.integer, let epoch = node["epoch"]?.integer,
        let generation = node["generation"]?.integer, let fingerprint = node["fingerprint"]?.string,
        let wall = node["wall"]?.timestamp, let bootID = node["bootID"]?.string, let boot = node["boot"]?.integer
      else { return nil }
      return ExchangeIntent(
        attempt: UInt64(clamping: attempt), epoch: UInt64(clamping: epoch), generation: UInt64(clamping: generation),
        fingerprint: fingerprint, wall: wall, bootID: bootID, boot: BootInstant(milliseconds: boot),
        key: TokenKey(node), isReplay: node["isReplay"]?.bool ?? false,
        nonce: node["nonce"]?.string.flatMap { Base64URL.decode($0) } ?? [])
    }
    guard let read else { return nil }
    self = read
  }
}
