/// What a page needs to know of the agent, and the document that it writes of it.
extension WebPage {
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
}
