/// What the person asks the agent for with a form: `POST /do/NAME`. Afterwards the browser goes to `page`.
package struct WebAction: Sendable {
  package let page: WebPage
  private let write: @Sendable ([String: String]) throws(FormProblem) -> AgentQuestion
  private let success: @Sendable (JSONValue) -> String
  private let instead: [Int: AgentQuestion]

  /// The action of this name; nil for another word.
  package static func named(_ name: String) -> WebAction? { all[name] }

  /// The names of all actions.
  package static var names: [String] { all.keys.sorted() }

  init(
    _ page: WebPage, _ success: @escaping @Sendable (JSONValue) -> String, instead: [Int: AgentQuestion] = [:],
    _ write: @escaping @Sendable ([String: String]) throws(FormProblem) -> AgentQuestion
  ) {
    (self.page, self.success, self.instead, self.write) = (page, success, instead, write)
  }

  /// The calls for what the form says, in their order. The form has `token` besides, which was checked already.
  ///
  /// - Throws: what is wrong with the form, in words for the person.
  package func calls(_ form: [String: String]) throws(FormProblem) -> [AgentQuestion] { [try write(form)] }

  /// The call to make once instead of the one that failed; nil: the failure stands.
  package func alternative(_ answers: AgentAnswers) -> AgentQuestion? {
    answers.failure(Self.answer).flatMap { instead[$0.code] }
  }

  /// What came of it, in words for the person.
  package func notice(_ answers: AgentAnswers) -> String {
    if let failure = answers.failure(Self.answer) { return failure.message }
    return answers[Self.answer].map(success) ?? "Nothing was done: the agent did not answer."
  }

  /// The name of an action's call in its answers.
  static let answer = "done"
}

/// What is wrong with a form.
package struct FormProblem: Error {
  /// For the person.
  package let message: String

  package init(message: String) { self.message = message }
}
