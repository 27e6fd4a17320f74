import Foundation
import SchemaKit
import Testing

/// Generated files agree with the schemas.
struct DriftTests {
  @Test func generatedFiles_matchTheSchemas() {
    #expect(RepositoryFixture.repository.drift() == [])
  }

  @Test func staleMissingAndLeftoverFiles_areReported() throws {
    let top = FileManager.default.temporaryDirectory.appending(
      path: "lanyard-drift-\(ProcessInfo.processInfo.processIdentifier)")
    defer { try? FileManager.default.removeItem(at: top) }
    try FileManager.default.createDirectory(at: top, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: RepositoryFixture.top.appending(path: "Schemas"), to: top.appending(path: "Schemas"))
    let repository = try ContractRepository(top: top)
    #expect(try repository.generate().isEmpty == false)
    #expect(repository.drift() == [])
    let generated = top.appending(path: "Sources/Protocol/AgentProtocol/Generated")
    try Data("// by hand".utf8).write(to: generated.appending(path: "Enums.swift"))
    try FileManager.default.removeItem(at: generated.appending(path: "Methods/Token.swift"))
    try Data("// of a method that is gone".utf8).write(to: generated.appending(path: "Methods/Gone.swift"))
    let drift = repository.drift()
    #expect(drift.count == 3)
    for name in ["Enums.swift", "Methods/Token.swift", "Methods/Gone.swift"] {
      #expect(drift.contains { $0.contains(name) }, "\(name)")
    }
    #expect(try repository.generate().count == 3)
    #expect(repository.drift() == [])
  }

  @Test func contractDigest_ignoresTheOrderOfMembers() throws {
    let reordered = try RepositoryFixture.contract(changing: "types/decision.json") { value in
      value = .object(value.members!.reversed())
    }
    let changed = try RepositoryFixture.contract(changing: "types/decision.json") { $0[at: "/title"] = "Another" }
    #expect(reordered.digest == RepositoryFixture.contract.digest)
    #expect(changed.digest != RepositoryFixture.contract.digest)
    #expect(RepositoryFixture.contract.digest.count == 64)
  }
}
