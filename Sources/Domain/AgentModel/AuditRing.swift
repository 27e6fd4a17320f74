/// A part of the audit log with a bound of its own, so that entries of one part never displace those of the other.
public enum AuditRing: UInt8, CaseIterable, Sendable {
  /// Sign-ins, sign-outs and changes of the configuration. Kept by age.
  case security = 0
  /// Decisions. Kept by number.
  case decisions = 1
}
