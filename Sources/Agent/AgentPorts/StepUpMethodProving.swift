public import AgentModel
public import Secrets

/// One way for a person to prove to be there, as a PIN is one (API.md, step-up).
///
/// A proof is a key: the same one each time, and nobody gets it without the person. So the agent knows a right proof by
/// the key alone, and can lay an account's data under it. What is around a proof is the agent's and the same for every
/// method: that tries are counted before they are judged, what ten wrong ones do, what is written down, and when it ends.
///
/// A method of its own takes a type like this in `AgentEnvironment`, its word in `StepUpMethod` and in the schema of
/// policies, and the member of `stepUp.enroll` and `stepUp.verify` that carries what it is given.
public protocol StepUpMethodProving: Sendable {
  var method: StepUpMethod { get }

  /// Sets it up for one account; nil if that can't be now, and nothing is changed. `pepper` is the vault's for that
  /// account: what is kept is worth nothing without it.
  func enroll(_ given: Secret, pepper: SealingKey) async -> StepUpEnrolment?

  /// Judges what the person gave against what `enroll` kept. May take its time: nobody else waits for it.
  func judge(_ given: Secret, kept: [UInt8], pepper: SealingKey) async -> StepUpProof
}

/// What is kept of a method for one account (it is sealed), and the key that a proof will give.
public struct StepUpEnrolment: Sendable {
  public var kept: [UInt8]
  public var key: SealingKey

  public init(kept: [UInt8], key: SealingKey) {
    self.kept = kept
    self.key = key
  }
}

public enum StepUpProof: Sendable {
  /// Right if it is the key of the enrolment: the agent compares.
  case key(SealingKey)
  /// Known to be wrong without a key.
  case wrong
  /// It could not be judged: memory is short, a device is gone.
  case unavailable
}
