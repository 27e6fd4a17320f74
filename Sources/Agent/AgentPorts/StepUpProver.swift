public import AgentModel
public import Secrets

/// A method of step-up authentication, such as a PIN (docs/offline.md, Step-up).
///
/// A correct proof yields a key: the same key each time, and never without the person's input. The agent compares that
/// key with the enrolled one, and can encrypt an account's data under it. The agent itself counts attempts before they
/// are judged, locks after ten wrong ones, writes the audit log and ends a grant, in the same way for every method.
///
/// To add a method: implement this protocol and register it in `AgentEnvironment`; add its word to `StepUpMethod` and
/// to the policy schema; add a member for its input to `stepUp.enroll` and `stepUp.verify`.
public protocol StepUpProver: Sendable {
  /// The method's name in policies, events and records.
  var method: StepUpMethod { get }

  /// Enrols the method for one account; nil if that fails, and nothing changes. `pepper` is a key of the vault for this
  /// account, without which `StepUpEnrolment.kept` is useless.
  func enroll(_ given: Secret, pepper: SealingKey) async -> StepUpEnrolment?

  /// Judges the person's input against the data that `enroll` kept. It may be slow: other requests do not wait for it.
  func judge(_ given: Secret, kept: [UInt8], pepper: SealingKey) async -> StepUpProof
}

/// The result of an enrolment.
public struct StepUpEnrolment: Sendable {
  /// Data for later judgements, which the agent stores encrypted.
  public var kept: [UInt8]
  /// The key that a correct proof yields.
  public var key: SealingKey

  public init(kept: [UInt8], key: SealingKey) {
    self.kept = kept
    self.key = key
  }
}

/// The result of a judgement.
public enum StepUpProof: Sendable {
  /// The key that the input yields; the agent compares it with the enrolled one.
  case key(SealingKey)
  /// The input is wrong, and no key was computed.
  case wrong
  /// No judgement was possible, such as for lack of memory or a missing device.
  case unavailable
}
