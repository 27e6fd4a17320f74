import Foundation
import StateWalks
import Testing

/// The diagrams in `Schemas/generated` show the machines' current transitions.
@Suite struct StateDiagramTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Schemas/generated")

  @Test(arguments: StateDocument.allCases)
  func document_matchesTheMachine(document: StateDocument) throws {
    try check(document.name, document.text())
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
