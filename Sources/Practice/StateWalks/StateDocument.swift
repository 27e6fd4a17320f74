/// A page of `Schemas/generated` with the states of a machine, made by driving the machine through all of them.
package enum StateDocument: String, CaseIterable, Sendable {
  case grant = "grant-states.md"
  case exchange = "exchange-states.md"
  case signOut = "sign-out-states.md"
  case operation = "operation-states.md"
  case approval = "approval-states.md"

  /// The name of the file.
  package var name: String { rawValue }

  /// The page, as the machine is now.
  package func text() -> String {
    switch self {
    case .grant: GrantDocument(.everything()).text
    case .exchange: ExchangeDocument(.everything()).text
    case .signOut: SignOutDocument().text
    case .operation: OperationDocument().text
    case .approval: ApprovalDocument().text
    }
  }
}
