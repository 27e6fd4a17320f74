package import AgentCore
internal import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension ExchangeIntent {
  package var record: Secret {
    SecretJSON.write { writer in
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
      writer.member("lostReplays", Int64(lostReplays))
      writer.key("isLeaving")
      writer.bool(isLeaving)
      writer.member("firstSentBootID", firstSent?.bootID)
      writer.member("firstSentBoot", firstSent?.boot.milliseconds)
      writer.member("nonce", Base64URL.encode(nonce))
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> ExchangeIntent? in
      guard let attempt = node["attempt"]?.integer, let epoch = node["epoch"]?.integer,
        let generation = node["generation"]?.integer, let fingerprint = node["fingerprint"]?.string,
        let wall = node["wall"]?.timestamp, let bootID = node["bootID"]?.string, let boot = node["boot"]?.integer,
        let isReplay = node["isReplay"]?.bool, let isLeaving = node["isLeaving"]?.bool
      else { return nil }
      let firstSent = node["firstSentBootID"]?.string.flatMap { id in
        node["firstSentBoot"]?.integer.map { ExchangeIntent.Sending(bootID: id, boot: BootInstant(milliseconds: $0)) }
      }
      return ExchangeIntent(
        attempt: UInt64(clamping: attempt), epoch: UInt64(clamping: epoch), generation: UInt64(clamping: generation),
        fingerprint: fingerprint, wall: wall, bootID: bootID, boot: BootInstant(milliseconds: boot),
        key: TokenKey(node), isReplay: isReplay, lostReplays: Int(clamping: node["lostReplays"]?.integer ?? 0),
        isLeaving: isLeaving,
        firstSent: firstSent,
        nonce: node["nonce"]?.string.flatMap { Base64URL.decode($0) } ?? [])
    }
    guard let read else { return nil }
    self = read
  }
}
