public import Foundation

/// The project's directory, where the contract is read and what is made from it is written.
public struct ContractRepository: Sendable {
  public let top: URL
  public let contract: Contract

  public init(top: URL) throws {
    self.top = top
    contract = try Contract(directory: top.appending(path: "Schemas"))
  }

  /// Writes every generated file that changed, removes what is generated no more, and tells which.
  public func generate() throws -> [String] {
    var changed: [String] = []
    for file in contract.rendered where read(file.path) != file.text {
      let url = top.appending(path: file.path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(file.text.utf8).write(to: url)
      changed.append(file.path)
    }
    for path in leftovers {
      try FileManager.default.removeItem(at: top.appending(path: path))
      changed.append(path)
    }
    return changed
  }

  /// The generated files that are not what the schemas say now; empty if all are.
  public func drift() -> [String] {
    contract.rendered.filter { read($0.path) != $0.text }.map { "\($0.path): drifted, run lanyard-schemas generate" }
      + leftovers.map { "\($0): is generated no more, run lanyard-schemas generate" }
  }

  private func read(_ path: String) -> String? { try? String(contentsOf: top.appending(path: path), encoding: .utf8) }

  /// Generated like the others, but from the token machine (Tests/Domain/AgentCoreTests/StateDiagram).
  private static let stateDiagram = "Schemas/generated/grant-states.md"

  /// Files in folders that hold nothing but generated ones.
  private var leftovers: [String] {
    let rendered = Set(contract.rendered.map(\.path) + [Self.stateDiagram])
    return ["Sources/Protocol/AgentProtocol/Generated", "Schemas/generated"].flatMap { folder in
      (FileManager.default.enumerator(atPath: top.appending(path: folder).path)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".swift") || $0.hasSuffix(".json") || $0.hasSuffix(".md") }
        .map { folder + "/" + $0 }
    }.filter { !rendered.contains($0) }.sorted()
  }
}
