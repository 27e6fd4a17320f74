/// A page for the person. It says what it needs to know of the agent, and writes the document of it.
package enum WebPage: String, CaseIterable, Sendable {
  case accounts, activity, approvals, programs, waiting, policies, health

  /// Its address, such as `/accounts`.
  package var path: String { "/" + rawValue }

  /// The calls of the agent that the page needs first.
  package func questions(_ query: [String: String]) -> [AgentQuestion] { [] }

  /// The calls that the page needs besides, now that the first are answered: asked once, before `html`.
  package func furtherQuestions(_ query: [String: String], _ answers: AgentAnswers) -> [AgentQuestion] { [] }

  /// The whole document.
  package func html(_ visit: PageVisit, _ answers: AgentAnswers) -> String { "" }

  /// The pages that show something else after an event of the agent; every page has the count of what waits for the person.
  package static func changes(event type: String) -> Set<WebPage> { [] }
}
