internal import Foundation

/// The frozen copies: what each released version of the protocol promised.
extension ContractRepository {
  private var frozenFolder: URL { top.appending(path: "Schemas/frozen/\(contract.protocolVersion)") }

  /// What would break a client of the frozen copy of this protocol; a problem of its own if there is no copy.
  public func incompatibilities() throws -> [String] {
    guard FileManager.default.fileExists(atPath: frozenFolder.path) else {
      return ["Schemas/frozen/\(contract.protocolVersion): is missing, run lanyard-schemas freeze"]
    }
    return Compatibility.problems(from: try Contract(directory: frozenFolder), to: contract).map {
      "against frozen/\(contract.protocolVersion): \($0)"
    }
  }

  /// Copies the schemas of now over the frozen ones, if they keep every promise of those. Tells where they are.
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
