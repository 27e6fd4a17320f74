import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard operations`
struct OperationsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operations",
    abstract: "Manage the operations that programs queued for an account.",
    discussion: """
      The agent delivers queued operations in their order when the provider is reachable, under the policy of that \
      moment. One that was rejected keeps its payload until you cancel it.

      EXAMPLES:
        lanyard operations
        lanyard operations list --status rejected
        lanyard operations export op_…  > payload.json
      """,
    subcommands: [
      OperationsList.self, OperationsShow.self, OperationsRetry.self, OperationsCancel.self, OperationsExport.self,
    ],
    defaultSubcommand: OperationsList.self)
}

/// The statuses of the contract that a list can be narrowed to.
enum OperationStatusName: String, CaseIterable, ExpressibleByArgument {
  case queued, ready, sending, done, rejected, needsInteraction, unknown, orphaned
}
