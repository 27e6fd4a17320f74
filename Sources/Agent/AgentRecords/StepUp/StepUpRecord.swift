package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The PIN's verifier, the attempts that are left, and the data key under the PIN (docs/offline.md, Step-up).
  package static let stepUp = DeclaredKind(11, under: .token, [.counted, .wrapsDataKey])
}

/// The durable part of an account's proof of presence. A destroyed proof leaves its count behind, so that a person
/// can't set a new one in its place before signing in again.
package struct StepUpRecord: Sendable {
  package var method: StepUpMethod
  package var attempts: StepUpAttempts
  /// Nil once it is destroyed.
  package var lock: StepUpLock?

  /// Also if the agent ended before the last try was judged: it is counted, and counts as wrong.
  package var isDestroyed: Bool { lock == nil || attempts.left == 0 }

  /// What stays of it once it is destroyed.
  package var tombstone: StepUpRecord { StepUpRecord(method: method, attempts: attempts, lock: nil) }

  package var sealable: Secret {
    SecretJSON.write { writer in
      writer.member("method", method.rawValue)
      writer.member("spent", Int64(attempts.spent))
      writer.member("inARow", Int64(attempts.inARow))
      writer.member("lastAt", attempts.lastAt.milliseconds)
      writer.member("lastBootID", attempts.lastBootID)
      guard let lock else { return }
      writer.member("kept", Base64URL.encode(lock.kept))
      writer.member("commitment", Base64URL.encode(lock.commitment))
      writer.member("wrappedDataKey", Base64URL.encode(lock.wrappedDataKey))
      writer.member("place", lock.place.map { Base64URL.encode($0) })
    }
  }

  init(method: StepUpMethod, attempts: StepUpAttempts, lock: StepUpLock?) {
    self.method = method
    self.attempts = attempts
    self.lock = lock
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> StepUpRecord? in
      guard let method = node["method"]?.string, let spent = node["spent"]?.integer,
        let inARow = node["inARow"]?.integer,
        let lastAt = node["lastAt"]?.integer, let lastBootID = node["lastBootID"]?.string
      else { return nil }
      let attempts = StepUpAttempts(
        spent: Int(spent), inARow: Int(inARow), lastAt: BootInstant(milliseconds: lastAt), lastBootID: lastBootID)
      var record = StepUpRecord(method: StepUpMethod(rawValue: method), attempts: attempts, lock: nil)
      guard node["commitment"] != nil else { return record }
      func bytes(_ name: StaticString) -> [UInt8]? { node[name]?.string.flatMap { Base64URL.decode($0) } }
      guard let kept = bytes("kept"), let commitment = bytes("commitment"), let wrapped = bytes("wrappedDataKey")
      else { return nil }
      record.lock = StepUpLock(kept: kept, commitment: commitment, wrappedDataKey: wrapped, place: bytes("place"))
      return record
    }
    guard let read else { return nil }
    self = read
  }
}

/// How the agent verifies a proof, with the account's data key under it.
package struct StepUpLock: Sendable {
  /// The method's own.
  package var kept: [UInt8]
  var commitment: [UInt8]
  var wrappedDataKey: [UInt8]
  /// The incarnation in which it was set, where a backup brought it into another one.
  package var place: [UInt8]?
}

/// The place of a proof and its pepper: enough to judge it outside `VaultActor`.
package struct StepUpPlace: Sendable {
  package var method: StepUpMethod
  var partition: [UInt8]
  package var pepper: SealingKey

  func lock(_ dataKey: SealingKey, by enrolment: StepUpEnrolment) -> StepUpLock {
    StepUpLock(
      kept: enrolment.kept, commitment: commitment(to: enrolment.key),
      wrappedDataKey: wrapping(by: enrolment.key).seal(dataKey.secret, additionalData: additionalData))
  }

  package func isRight(_ key: SealingKey, for lock: StepUpLock) -> Bool {
    let commitment = commitment(to: key)
    // Both are keyed digests, of which an attacker can't choose a prefix; compare in constant time all the same.
    return commitment.count == lock.commitment.count
      && zip(commitment, lock.commitment).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  package func dataKey(in lock: StepUpLock, by key: SealingKey) -> SealingKey? {
    let plain = try? wrapping(by: key).open(lock.wrappedDataKey, additionalData: additionalData)
    return plain.flatMap(SealingKey.init)
  }

  private func commitment(to key: SealingKey) -> [UInt8] {
    key.digest("lanyard \(method.rawValue) commitment", partition)
  }

  private func wrapping(by key: SealingKey) -> SealingKey { key.derive("lanyard \(method.rawValue) wrap") }

  private var additionalData: [UInt8] {
    var fields = LengthPrefixed()
    fields.append("lanyard \(method.rawValue) 1")
    fields.append(partition)
    return fields.bytes
  }
}
