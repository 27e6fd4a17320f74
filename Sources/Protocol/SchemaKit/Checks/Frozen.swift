internal import Foundation

/// The frozen copies: the contract of each released protocol version.
extension ContractRepository {
  private var frozenFolder: URL { top.appending(path: "Schemas/frozen/\(contract.protocolVersion)") }

  /// Changes that break clients of the frozen copy; also a problem if the copy is missing.
  ///
  /// - Throws: `ContractProblems` if the frozen copy is invalid; a Foundation error if it can't be read.
  public func incompatibilities() throws -> [String] {
    guard FileManager.default.fileExists(atPath: frozenFolder.path) else {
      return ["Schemas/frozen/\(contract.protocolVersion): is missing, run lanyard-schemas freeze"]
    }
    return Compatibility.problems(from: try Contract(directory: frozenFolder), to: contract).map {
      "against frozen/\(contract.protocolVersion): \($0)"
    }
  }

  /// Replaces the frozen copy by the current schemas and returns its path.
  ///
  /// - Throws: `ContractProblems` if the current schemas break the frozen copy; a Foundation error if a file can't be
  ///   written.
  public func freeze() throws -> String {
    if FileManager.default.fileExists(atPath: frozenFolder.path) {
      let problems = Compatibility.problems(from: try Contract(directory: frozenFolder), to: contract)
      guard problems.isEmpty else { throw ContractProblems(problems: problems) }
    }
    for document in contract.documents {
      let url = frozenFolder.appending(path: document.path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(contentsOf: top.appending(path: "Schemas/" + document.path)).write(to: url)
    }
    return frozenFolder.path
  }
}
