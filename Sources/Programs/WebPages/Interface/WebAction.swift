/// What the person asks the agent for with a form: `POST /do/NAME`. Afterwards the browser goes to `page`.
package struct WebAction: Sendable {
  package let page: WebPage

  /// The action of this name; nil for another word.
  package static func named(_ name: String) -> WebAction? { nil }

  /// The calls for what the form says, in their order. The form has `token` besides, which was checked already.
  ///
  /// - Throws: what is wrong with the form, in words for the person.
  package func calls(_ form: [String: String]) throws(FormProblem) -> [AgentQuestion] { [] }

  /// What came of it, in words for the person.
  package func notice(_ answers: AgentAnswers) -> String { "" }
}

/// What is wrong with a form.
package struct FormProblem: Error {
  /// For the person.
  package let message: String
}
