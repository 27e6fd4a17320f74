internal import Foundation

/// What the contract promises already: the schemas of the last release, as git keeps them.
extension ContractRepository {
  /// The contract of a release.
  public struct Release: Sendable {
    /// The git tag, such as `v1.2.0`.
    public var tag: String
    public var contract: Contract
  }

  /// The newest tag `v*` in the history of what is checked out whose tree has schemas. Nil without such a tag, without
  /// git, and in a copy of the sources without a history.
  ///
  /// - Throws: `ContractProblems` if the schemas of the release are invalid; a Foundation error if they can't be copied.
  public func lastRelease() throws -> Release? {
    let tags = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname") ?? ""
    guard
      let tag = tags.split(separator: "\n").map(String.init).first(where: {
        git("cat-file", "-e", "\($0):Schemas/lanyard.json") != nil
      })
    else { return nil }
    let folder = FileManager.default.temporaryDirectory.appending(path: "lanyard-release-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let archive = folder.appending(path: "schemas.tar").path
    guard git("archive", "--format=tar", "--output=\(archive)", tag, "Schemas") != nil,
      run("tar", "-C", folder.path, "-xf", archive) != nil
    else { throw ContractProblems(problems: [Problem("Schemas", "git can't read those of \(tag)")]) }
    return Release(tag: tag, contract: try Contract(directory: folder.appending(path: "Schemas")))
  }

  /// Changes that break clients of a release; empty if there are none. Another protocol version promises nothing to
  /// them.
  public func incompatibilities(with release: Release) -> [String] {
    guard release.contract.protocolVersion == contract.protocolVersion else { return [] }
    return Compatibility.problems(from: release.contract, to: contract).map { "against \(release.tag): \($0)" }
  }

  private func git(_ arguments: String...) -> String? { run("git", ["-C", top.path] + arguments) }
  private func run(_ program: String, _ arguments: String...) -> String? { run(program, arguments) }

  /// What a program prints; nil if it is not there or fails.
  private func run(_ program: String, _ arguments: [String]) -> String? {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: bytes, as: UTF8.self) : nil
  }
}
