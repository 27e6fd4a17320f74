internal import AgentCore
internal import AgentModel
internal import JSONRPC
internal import Secrets

/// What is durable of an account's PIN. A PIN that is destroyed leaves its count behind, so that nobody sets a new one
/// in its place before the person has signed in again.
struct PINRecord: Sendable {
  var attempts: PINAttempts
  /// Nil once it is destroyed.
  var lock: PINLock?

  /// Also if the agent ended before the last try was judged: it is counted, and counts as wrong.
  var isDestroyed: Bool { lock == nil || attempts.left == 0 }

  var sealable: Secret {
    RecordCoding.write { writer in
      writer.member("spent", Int64(attempts.spent))
      writer.member("inARow", Int64(attempts.inARow))
      writer.member("lastAt", attempts.lastAt.milliseconds)
      writer.member("lastBootID", attempts.lastBootID)
      guard let lock else { return }
      writer.member("parameters", Base64URL.encode(lock.parameters.bytes))
      writer.member("commitment", Base64URL.encode(lock.commitment))
      writer.member("wrappedDataKey", Base64URL.encode(lock.wrappedDataKey))
    }
  }

  init(attempts: PINAttempts, lock: PINLock?) {
    self.attempts = attempts
    self.lock = lock
  }

  init?(_ plain: Secret) {
    let read = RecordCoding.read(plain) { node -> PINRecord? in
      guard let spent = node["spent"]?.integer, let inARow = node["inARow"]?.integer,
        let lastAt = node["lastAt"]?.integer, let lastBootID = node["lastBootID"]?.string
      else { return nil }
      let attempts = PINAttempts(
        spent: Int(spent), inARow: Int(inARow), lastAt: BootInstant(milliseconds: lastAt), lastBootID: lastBootID)
      guard node["commitment"] != nil else { return PINRecord(attempts: attempts, lock: nil) }
      func bytes(_ name: StaticString) -> [UInt8]? { node[name]?.string.flatMap { Base64URL.decode($0) } }
      guard let parameters = bytes("parameters").flatMap({ PassphraseParameters(bytes: $0) }),
        let commitment = bytes("commitment"), let wrapped = bytes("wrappedDataKey")
      else { return nil }
      return PINRecord(
        attempts: attempts,
        lock: PINLock(parameters: parameters, commitment: commitment, wrappedDataKey: wrapped))
    }
    guard let read else { return nil }
    self = read
  }
}

/// A PIN as the vault knows it, with the account's data key under it. Whoever has it can't try a PIN without the
/// vault's pepper, and pays for Argon2id with each try that they have it.
struct PINLock: Sendable {
  var parameters: PassphraseParameters
  var commitment: [UInt8]
  var wrappedDataKey: [UInt8]
}

/// Where a PIN belongs, and what it is peppered with: enough to judge it away from the vault.
struct PINPlace: Sendable {
  var partition: [UInt8]
  var pepper: SealingKey

  /// Takes 0.1 s and more; nil if memory is short. The bytes are those that were typed: nothing is made equal.
  func key(of pin: Secret, _ parameters: PassphraseParameters) -> SealingKey? {
    parameters.stretching.key(from: pepper.keyed("pin", pin), salt: parameters.salt)
  }

  func lock(_ dataKey: SealingKey, by key: SealingKey, _ parameters: PassphraseParameters) -> PINLock {
    PINLock(
      parameters: parameters, commitment: key.digest("lanyard pin commitment", partition),
      wrappedDataKey: key.derive("lanyard pin wrap").seal(dataKey.secret, additionalData: additionalData))
  }

  func isRight(_ key: SealingKey, for lock: PINLock) -> Bool {
    let commitment = key.digest("lanyard pin commitment", partition)
    // Both are keyed digests of which nobody can choose a prefix; all the same no byte is told by the time it takes.
    return commitment.count == lock.commitment.count
      && zip(commitment, lock.commitment).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  func dataKey(in lock: PINLock, by key: SealingKey) -> SealingKey? {
    let plain = try? key.derive("lanyard pin wrap").open(lock.wrappedDataKey, additionalData: additionalData)
    return plain.flatMap(SealingKey.init)
  }

  private var additionalData: [UInt8] {
    var fields = LengthPrefixed()
    fields.append(Array("lanyard pin 1".utf8))
    fields.append(partition)
    return fields.bytes
  }
}
