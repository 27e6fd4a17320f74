public import Secrets

/// Asks the person at this machine for a secret, so that the requesting program never sees it, or for a yes.
public protocol Prompter: Sendable {
  /// Shows the question and waits a few minutes at most. Cancelling the task closes the dialog.
  func ask(_ question: PromptQuestion) async -> PromptAnswer
  /// Why the last question could not be shown, for `agent.diagnose`; nil if it could, or none was asked.
  var trouble: PromptTrouble? { get }
}

extension Prompter {
  public var trouble: PromptTrouble? { nil }
}

/// Why no dialog was shown.
public enum PromptTrouble: Hashable, Sendable {
  /// The program for it is not installed, or can't be run.
  case noProgram
  /// It was started, and ended without a dialog: it has no display and no terminal.
  case notShown
}

/// A question for the person.
public struct PromptQuestion: Hashable, Sendable {
  /// One or two sentences: which secret is needed and why.
  public var description: String
  /// One word before the input field.
  public var label: String
  /// True for a secret that the person chooses: they type it twice, until both inputs match.
  public var isNew: Bool
  /// True for a question that the person confirms or declines: nothing is typed.
  public var isConfirmation = false

  public init(description: String, label: String, isNew: Bool = false) {
    self.description = description
    self.label = label
    self.isNew = isNew
  }

  /// A question for a yes; each line of `description` fits a line of the dialog.
  public static func confirmation(_ description: String) -> PromptQuestion {
    var question = PromptQuestion(description: description, label: "")
    question.isConfirmation = true
    return question
  }
}

/// The result of a question.
public enum PromptAnswer: Sendable {
  /// The person typed this secret.
  case typed(Secret)
  /// The person confirmed.
  case confirmed
  /// The person closed the dialog, or declined.
  case cancelled
  /// The person did not answer in time.
  case timedOut
  /// There is no dialog program, or it failed.
  case unavailable
}

/// A platform without dialogs.
public struct NoPrompter: Prompter {
  public init() {}
  public func ask(_ question: PromptQuestion) async -> PromptAnswer { .unavailable }
}
