import Foundation
import SchemaKit
import Testing
import TranscriptHarness

/// Contract, agent and transcripts cover the same methods.
@Suite struct CoverageTests {
  /// The running agent's answers to every method of the contract, each asked with an unknown param.
  private static func answers() throws -> (features: [String], served: Set<String>) {
    let contract = try Library.contract.get()
    var script = "@open a\n"
    script +=
      #"a> {"jsonrpc":"2.0","id":"hello","method":"agent.hello","params":{"client":{"name":"t","version":"1"}}}"#
    for method in contract.methods {
      script += "\n" + #"a> {"jsonrpc":"2.0","id":"\#(method.name)","method":"\#(method.name)","params":{"no":"such"}}"#
    }
    let player = try Player(
      Transcript(name: "coverage", text: script), contract: contract, transport: .inProcess, chunking: .whole,
      updating: true)
    let played = try #require(try player.play())
    var features: [String] = []
    var served: Set<String> = []
    for line in played.split(separator: "\n") where line.hasPrefix("a< ") {
      let answer = try JSONValue(parsing: String(line.dropFirst(3)))
      let id = try #require(answer["id"]?.string)
      if id == "hello" {
        features = (answer["result"]?["features"]?.elements ?? []).compactMap(\.string)
      } else if answer["error"]?["code"]?.integer != -32601 {
        served.insert(id)
      }
    }
    return (features, served)
  }

  @Test func feature_isAnnouncedOnlyIfAllItsMethodsAreServed() throws {
    let (features, served) = try Self.answers()
    let contract = try Library.contract.get()
    #expect(!features.isEmpty)
    #expect(Set(features).count == features.count)
    for method in contract.methods where !served.contains(method.name) {
      #expect(!features.contains(method.name), "\(method.name) is told, and not served")
      #expect(!features.contains(method.feature), "\(method.feature) is told, and \(method.name) is not served")
    }
    for method in contract.methods where served.contains(method.name) {
      #expect(
        features.contains(method.name) || features.contains(method.feature), "\(method.name) is served, and not told")
    }
  }

  @Test func everyServedMethod_isAnsweredInATranscript() throws {
    let (_, served) = try Self.answers()
    var answered: Set<String> = []
    for name in Library.all {
      for line in try Library.transcript(name).lines where line.dropFirst().contains("\"method\":\"") {
        guard line.prefix(while: { $0 != " " }).hasSuffix(">") else { continue }
        for match in line.matches(of: /"method":"([A-Za-z.]+)"/) { answered.insert(String(match.1)) }
      }
    }
    #expect(served.subtracting(answered).sorted() == [])
  }

  /// A new method must show its behaviour while the vault is locked.
  @Test func everyServedMethod_isAskedOfALockedVault() throws {
    let (_, served) = try Self.answers()
    let asked = try Library.transcript("agent/locked.transcript").lines.flatMap { line in
      line.matches(of: /"method":"([A-Za-z.]+)"/).map { String($0.1) }
    }
    #expect(served.subtracting(asked).sorted() == [])
  }
}
