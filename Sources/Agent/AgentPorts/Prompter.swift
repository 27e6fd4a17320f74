public import Secrets

/// Asks the person at this machine for a secret, so that the program which needs it done never sees it.
public protocol Prompter: Sendable {
  /// Waits for the person, a few minutes at most; a task that is cancelled takes the question away.
  func ask(_ question: PromptQuestion) async -> PromptAnswer
}

/// What the person reads.
public struct PromptQuestion: Hashable, Sendable {
  /// What is wanted and what for: a sentence or two.
  public var description: String
  /// Before the field: one word.
  public var label: String
  /// A secret that is being chosen: typed twice, and asked again until both are the same.
  public var isNew: Bool

  public init(description: String, label: String, isNew: Bool = false) {
    self.description = description
    self.label = label
    self.isNew = isNew
  }
}

public enum PromptAnswer: Sendable {
  case typed(Secret)
  /// The person does not want to.
  case cancelled
  /// Nobody answered.
  case timedOut
  /// Nothing here can ask: there is no such program, or it failed.
  case unavailable
}

/// A machine on which nobody can be asked.
public struct NoPrompter: Prompter {
  public init() {}
  public func ask(_ question: PromptQuestion) async -> PromptAnswer { .unavailable }
}
