public import AgentModel

/// One entry of the audit log as the store keeps it: numbered, encrypted, and chained to the entry before it in its
/// ring.
public struct AuditRow: Sendable, Equatable {
  public var ring: AuditRing
  /// Counts from 1, over both rings.
  public var sequence: Int64
  /// The epoch of the root key that encrypted the entry.
  public var keyEpoch: UInt32
  /// 32 bytes: a keyed hash over the previous link, the sequence and `sealed`.
  public var link: [UInt8]
  /// The encrypted entry.
  public var sealed: [UInt8]

  public init(ring: AuditRing, sequence: Int64, keyEpoch: UInt32, link: [UInt8], sealed: [UInt8]) {
    self.ring = ring
    self.sequence = sequence
    self.keyEpoch = keyEpoch
    self.link = link
    self.sealed = sealed
  }
}
