public import Foundation
internal import JSONRPC

/// The project directory, with the contract and the files generated from it.
public struct ContractRepository: Sendable {
  /// The directory that contains `Schemas`.
  public let top: URL
  /// The contract as read from `Schemas`.
  public let contract: Contract
  /// The files of `Schemas/presets`, ordered by name.
  public let presets: [Preset]

  /// Reads the contract.
  ///
  /// - Throws: `ContractProblems` if a document is invalid; a Foundation error if the directory can't be read.
  public init(top: URL) throws {
    self.top = top
    contract = try Contract(directory: top.appending(path: "Schemas"))
    presets = try Self.presets(in: top.appending(path: "Schemas/presets"))
    let problems = presets.flatMap(contract.problems(of:))
    guard problems.isEmpty else { throw ContractProblems(problems: problems) }
  }

  /// None where there is no such directory.
  private static func presets(in directory: URL) throws -> [Preset] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return try names.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted().map { name in
      do throws(JSONScanner.Failure) {
        let bytes = (try? Data(contentsOf: directory.appending(path: name + ".json"))) ?? Data()
        return Preset(name: name, value: try JSONValue(parsing: [UInt8](bytes)))
      } catch {
        throw ContractProblems(problems: [Problem("presets/\(name).json", "is not JSON: \(error)")])
      }
    }
  }

  /// Every generated file, in a fixed order.
  public var rendered: [RenderedFile] {
    contract.rendered + (presets.isEmpty ? [] : PresetRenderer(presets: presets).files)
  }

  /// Writes changed generated files, removes obsolete ones, and returns their paths.
  ///
  /// - Throws: a Foundation error if a file can't be written or removed.
  public func generate() throws -> [String] {
    var changed: [String] = []
    for file in rendered where read(file.path) != file.text {
      let url = top.appending(path: file.path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(file.text.utf8).write(to: url)
      changed.append(file.path)
    }
    for path in obsoleteFiles {
      try FileManager.default.removeItem(at: top.appending(path: path))
      changed.append(path)
    }
    return changed
  }

  /// Generated files that differ from the contract, as messages; empty if there are none.
  public func drift() -> [String] {
    rendered.filter { read($0.path) != $0.text }.map { "\($0.path): drifted, run lanyard-schemas generate" }
      + obsoleteFiles.map { "\($0): is obsolete, run lanyard-schemas generate" }
  }

  private func read(_ path: String) -> String? { try? String(contentsOf: top.appending(path: path), encoding: .utf8) }

  /// The end of the names of what the machines of `AgentCore` are rendered into instead (`StateDocument`).
  private static let stateDiagramSuffix = "-states.md"

  /// Obsolete files in the folders of generated files.
  private var obsoleteFiles: [String] {
    let rendered = Set(self.rendered.map(\.path))
    let folders = ["Schemas/generated", PresetRenderer.agentFolder]
    return (SwiftRenderer.folders + folders).flatMap { folder in
      (FileManager.default.enumerator(atPath: top.appending(path: folder).path)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".swift") || $0.hasSuffix(".json") || $0.hasSuffix(".md") }
        .map { folder + "/" + $0 }
    }.filter { !rendered.contains($0) && !$0.hasSuffix(Self.stateDiagramSuffix) }.sorted()
  }
}
