import Foundation
import SchemaKit
import Testing

/// The contract of a release is what its git tag holds.
struct ReleaseTests {
  /// A git repository of its own, with the schemas of this one.
  final class Project {
    let top: URL

    init() throws {
      top = FileManager.default.temporaryDirectory.appending(path: "lanyard-release-test-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: top, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: RepositoryFixture.top.appending(path: "Schemas"), to: top.appending(path: "Schemas"))
    }

    deinit { try? FileManager.default.removeItem(at: top) }

    func repository() throws -> ContractRepository { try ContractRepository(top: top) }

    func git(_ arguments: String...) throws {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments =
        ["git", "-C", top.path, "-c", "user.name=Alice", "-c", "user.email=alice@example.org"] + arguments
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "git \(arguments)")
    }

    func commit(_ path: String) throws {
      try git("add", path)
      try git("commit", "--quiet", "--no-gpg-sign", "--message", "Change \(path)")
    }

    /// Changes one schema on the disk.
    func change(_ path: String, at pointer: String, to value: JSONValue?) throws {
      let url = top.appending(path: "Schemas/" + path)
      var document = try JSONValue(parsing: [UInt8](try Data(contentsOf: url)))
      document[at: pointer] = value
      try Data(document.compact.utf8).write(to: url)
    }
  }

  static let param = "/params/properties/openBrowser"

  @Test func withoutGit_nothingWasReleased() throws {
    #expect(try Project().repository().lastRelease()?.tag == nil)
  }

  @Test func tagWithoutSchemas_isNoRelease() throws {
    let project = try Project()
    try Data("A draft.".utf8).write(to: project.top.appending(path: "README.md"))
    try project.git("init", "--quiet")
    try project.commit("README.md")
    try project.git("tag", "v0.1.0")
    try project.commit("Schemas")
    #expect(try project.repository().lastRelease()?.tag == nil)
    try project.git("tag", "nightly")
    #expect(try project.repository().lastRelease()?.tag == nil)
    try project.git("tag", "v0.2.0")
    #expect(try project.repository().lastRelease()?.tag == "v0.2.0")
  }

  /// `v1.10.0` comes after `v1.9.0`. A tag of another branch is no release of this one.
  @Test func contract_isComparedWithTheNewestReleaseOfItsHistory() throws {
    let project = try Project()
    try project.git("init", "--quiet")
    try project.commit("Schemas")
    try project.git("tag", "v1.9.0")
    try project.change("methods/account.forget.json", at: "/params/properties/reason", to: ["type": "boolean"])
    try project.commit("Schemas")
    try project.git("tag", "v1.10.0")
    try project.git("checkout", "--quiet", "-b", "other")
    try project.git("commit", "--quiet", "--no-gpg-sign", "--allow-empty", "--message", "Another branch")
    try project.git("tag", "v2.0.0")
    try project.git("checkout", "--quiet", "-")

    let release = try #require(try project.repository().lastRelease())
    #expect(release.tag == "v1.10.0")
    #expect(try project.repository().incompatibilities(with: release) == [])
    try project.change("methods/account.forget.json", at: "/params/properties/reason", to: nil)
    try project.change("methods/signIn.begin.json", at: Self.param, to: nil)
    let problems = try project.repository().incompatibilities(with: release)
    #expect(problems.count == 2)
    #expect(problems.allSatisfy { $0.hasPrefix("against v1.10.0: ") && $0.contains("the member is gone") })
  }

  @Test func anotherProtocolVersion_mayBreakWithTheLastOne() throws {
    let project = try Project()
    try project.git("init", "--quiet")
    try project.commit("Schemas")
    try project.git("tag", "v1.0.0")
    try project.change("methods/signIn.begin.json", at: Self.param, to: nil)
    let release = try #require(try project.repository().lastRelease())
    #expect(try project.repository().incompatibilities(with: release).count == 1)
    try project.change("lanyard.json", at: "/protocol", to: "2")
    #expect(try project.repository().incompatibilities(with: release) == [])
  }
}
