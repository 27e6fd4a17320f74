import AgentCore
import Foundation
import Testing

/// The diagrams in `Schemas/generated` show the machines' current transitions.
@Suite struct StateDiagramTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Schemas/generated")

  @Test func grantStatesDocument_matchesTheTokenMachine() throws {
    try check("grant-states.md", Document(.everything()).text)
  }

  @Test func exchangeStatesDocument_matchesTheExchangeMachine() throws {
    try check("exchange-states.md", ExchangeDocument(.everything()).text)
  }

  @Test func signOutStatesDocument_matchesTheSignOutMachine() throws {
    try check("sign-out-states.md", SignOutDocument().text)
  }

  @Test func operationStatesDocument_matchesTheOperationMachine() throws {
    try check("operation-states.md", OperationDocument().text)
  }

  private func check(_ name: String, _ text: String) throws {
    let file = Self.folder.appending(path: name)
    if ProcessInfo.processInfo.environment["LANYARD_UPDATE_DIAGRAM"] != nil {
      try Data(text.utf8).write(to: file)
    }
    let written = try String(contentsOf: file, encoding: .utf8)
    #expect(written == text, "the machine changed: run `make schemas`, and look at what `git diff` shows")
  }
}
