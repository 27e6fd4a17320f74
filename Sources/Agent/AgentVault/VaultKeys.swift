package import AgentPorts
package import Secrets

/// The keys that are derived from one root key (docs/storage.md, Key hierarchy).
package struct VaultKeys {
  package let root: SealingKey
  package let epoch: UInt32
  package let directory, head, index, vault, outbox, log, pepper, drops: SealingKey

  package init(root: SealingKey, epoch: UInt32) {
    self.root = root
    self.epoch = epoch
    directory = root.derive("lanyard wrap")
    head = root.derive("lanyard head")
    index = root.derive("lanyard index")
    vault = root.derive("lanyard vault")
    outbox = root.derive("lanyard outbox")
    log = root.derive("lanyard log")
    pepper = root.derive("lanyard step-up pepper")
    drops = root.derive("lanyard drops")
  }

  /// Names the root key at the anchors. An attacker who has it must still open a key slot to test a passphrase, since the
  /// root key is random.
  package func print(of databaseID: [UInt8]) -> RootPrint {
    var context = LengthPrefixed()
    context.append(databaseID)
    context.append(UInt64(epoch))
    return RootPrint(
      epoch: epoch, digest: Array(root.digest("lanyard root print", context.bytes).prefix(RootPrint.digestBytes)))
  }
}

extension DeclaredKind {
  /// The token key and the data key of one incarnation of an account, wrapped.
  static let accountKeys = DeclaredKind(2, under: .directory, .counted)
}

/// The keys of one incarnation of an account. The data key is nil while it is under the person's PIN.
package struct AccountKeys {
  package var token: SealingKey
  package var data: SealingKey?

  package init(token: SealingKey, data: SealingKey?) {
    self.token = token
    self.data = data
  }

  package init?(_ plain: Secret) {
    let size = SealingKey.byteCount
    guard plain.count == size || plain.count == 2 * size else { return nil }
    let halves = plain.withBytes { bytes in
      stride(from: 0, to: bytes.count, by: size).map { start in
        SealingKey(Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start..<start + size])))!
      }
    }
    (token, data) = (halves[0], halves.count == 2 ? halves[1] : nil)
  }

  package var plain: Secret {
    var builder = SecretBuilder(capacity: 2 * SealingKey.byteCount)
    builder.append(token.secret)
    if let data { builder.append(data.secret) }
    return builder.finish()
  }
}
