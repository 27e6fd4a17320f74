/// A page for the person. It says what it needs to know of the agent, and writes the document of it.
package enum WebPage: String, CaseIterable, Sendable {
  case accounts, activity, approvals, programs, waiting, policies, health

  /// Its address, such as `/accounts`.
  package var path: String { "/" + rawValue }

  /// The calls of the agent that the page needs first.
  package func questions(_ query: [String: String]) -> [AgentQuestion] {
    switch self {
    case .accounts: AccountsPage.questions
    case .activity: ActivityPage.questions(query)
    case .approvals: Frame.questions
    case .programs: ProgramsPage.questions
    case .waiting: WaitingPage.questions
    case .policies: PoliciesPage.questions(query)
    case .health: HealthPage.questions(query)
    }
  }

  /// The calls that the page needs besides, now that the first are answered: asked once, before `html`.
  package func furtherQuestions(_ query: [String: String], _ answers: AgentAnswers) -> [AgentQuestion] {
    switch self {
    case .accounts: AccountsPage.furtherQuestions(query, answers)
    case .activity: ActivityPage.furtherQuestions(query, answers)
    case .approvals, .programs: []
    case .waiting: WaitingPage.furtherQuestions(answers)
    case .policies: PoliciesPage.furtherQuestions(query, answers)
    case .health: HealthPage.furtherQuestions(answers)
    }
  }

  /// The whole document.
  package func html(_ visit: PageVisit, _ answers: AgentAnswers) -> String {
    switch self {
    case .accounts: AccountsPage(visit, answers).html()
    case .activity: ActivityPage(visit, answers).html()
    case .approvals: ApprovalsPage(visit, answers).html()
    case .programs: ProgramsPage(visit, answers).html()
    case .waiting: WaitingPage(visit, answers).html()
    case .policies: PoliciesPage(visit, answers).html()
    case .health: HealthPage(visit, answers).html()
    }
  }

  /// The pages that show something else after an event of the agent. Every page has the number of decisions that wait, the
  /// names of accounts, the network and the lock.
  package static func changes(event type: String) -> Set<WebPage> {
    switch type {
    case "token.refreshed": [.accounts, .health]
    case "token.scopesNarrowed", "stepUp.granted", "stepUp.expired", "signIn.requested": []
    case "snapshot.changed": [.accounts, .policies]
    case "account.expiring", "session.stateChanged", "session.expired": [.accounts, .activity, .policies, .health]
    case "clock.suspect": [.accounts, .policies, .health]
    case "revocation.confirmed", "revocation.abandoned", "operation.statusChanged": [.waiting, .activity]
    case "policy.changed": [.policies, .activity]
    // What every page shows in its frame, and what is not known here.
    default: Set(allCases)
    }
  }
}
