import Foundation
import SchemaKit
import Testing

/// What is generated is what the schemas say now.
struct DriftTests {
  @Test func nothingDrifted() {
    #expect(House.workshop.drift() == [])
  }

  @Test func noPromiseOfAFrozenVersionIsBroken() throws {
    #expect(try House.workshop.incompatibilities() == [])
  }

  @Test func aStaleAMissingAndALeftoverFileAreTold() throws {
    let top = FileManager.default.temporaryDirectory.appending(
      path: "lanyard-drift-\(ProcessInfo.processInfo.processIdentifier)")
    defer { try? FileManager.default.removeItem(at: top) }
    try FileManager.default.createDirectory(at: top, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: House.top.appending(path: "Schemas"), to: top.appending(path: "Schemas"))
    let workshop = try Workshop(top: top)
    #expect(try workshop.generate().isEmpty == false)
    #expect(workshop.drift() == [])
    let generated = top.appending(path: "Sources/Protocol/AgentProtocol/Generated")
    try Data("// by hand".utf8).write(to: generated.appending(path: "Words.swift"))
    try FileManager.default.removeItem(at: generated.appending(path: "Methods/Token.swift"))
    try Data("// of a method that is gone".utf8).write(to: generated.appending(path: "Methods/Gone.swift"))
    let drift = workshop.drift()
    #expect(drift.count == 3)
    for name in ["Words.swift", "Methods/Token.swift", "Methods/Gone.swift"] {
      #expect(drift.contains { $0.contains(name) }, "\(name)")
    }
    #expect(try workshop.generate().count == 3)
    #expect(workshop.drift() == [])
  }

  @Test func theDigestDoesNotDependOnTheOrderOfMembers() throws {
    let reordered = try House.contract(changing: "types/decision.json") { value in
      value = .object(value.members!.reversed())
    }
    let changed = try House.contract(changing: "types/decision.json") { $0[at: "/title"] = "Another" }
    #expect(reordered.digest == House.contract.digest)
    #expect(changed.digest != House.contract.digest)
    #expect(House.contract.digest.count == 64)
  }
}
