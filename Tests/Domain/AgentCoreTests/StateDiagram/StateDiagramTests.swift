import AgentCore
import Foundation
import Testing

/// The diagram in the docs is the machine's.
@Suite struct StateDiagramTests {
  static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Schemas/generated/grant-states.md")

  @Test func theDiagramIsWhatTheMachineDoes() throws {
    let text = Document(.everything()).text
    if ProcessInfo.processInfo.environment["LANYARD_UPDATE_DIAGRAM"] != nil {
      try Data(text.utf8).write(to: Self.file)
    }
    let written = try String(contentsOf: Self.file, encoding: .utf8)
    #expect(
      written == text,
      "the machine changed: LANYARD_UPDATE_DIAGRAM=1 swift test --filter StateDiagram, and look at what git diff shows")
  }
}
