/// One entry of the audit log as the store keeps it: in order, sealed, and chained to the one before.
public struct AuditRow: Sendable, Equatable {
  /// From 1, without a gap.
  public var sequence: Int64
  /// Which root key sealed it.
  public var keyEpoch: UInt32
  /// 32 bytes: a keyed digest over the link before, the number and the sealed bytes.
  public var link: [UInt8]
  public var sealed: [UInt8]

  public init(sequence: Int64, keyEpoch: UInt32, link: [UInt8], sealed: [UInt8]) {
    self.sequence = sequence
    self.keyEpoch = keyEpoch
    self.link = link
    self.sealed = sealed
  }
}
