import ArgumentParser
import CommandSupport

/// `lanyard approvals`
struct ApprovalsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approvals",
    abstract: "Show what AI agents may do only with your yes, and decide.",
    discussion: """
      A request waits here where a policy says `approve`: the program that sent it waits too, a few minutes at most. A \
      wish for more than a grant covers waits until you decide. Other ways to decide: the notification of `lanyard \
      notify`.

      EXAMPLES:
        lanyard approvals
        lanyard approvals --watch           # asks you about each one as it comes
        lanyard approvals allow ID
        lanyard approvals deny ID
      """,
    subcommands: [ApprovalsList.self, ApprovalsAllow.self, ApprovalsDeny.self],
    defaultSubcommand: ApprovalsList.self)
}

extension CompletionKind {
  /// What waits for the person, by its ids.
  static var waitingDecisions: CompletionKind {
    .custom { _, _, _ in
      words { agent throws(CommandFailure) in try WaitingDecisions(via: &agent).all.map(\.id) }
    }
  }
}
