import AgentCore
import AgentModel
import AgentPorts
import AgentSimulation
import AgentVault
import Foundation
import PracticeProvider
import Secrets
import Testing

@testable import Agent
@testable import AgentServing

/// Operations that an earlier version of the agent enqueued (docs/operations.md, Enqueueing).
@Suite struct EarlierOperationTests {
  private static func call(
    _ world: SimulatedWorld, _ method: String, _ params: String
  ) async throws -> SimulatedAnswer {
    let client = try world.client()
    defer { client.disconnect() }
    return await client.call(method, params)
  }

  private static func enqueue(_ world: SimulatedWorld, body: String) async throws -> SimulatedAnswer {
    try await call(
      world, "operation.enqueue",
      #"{"account":"work","capability":"note","idempotencyKey":"k1","retryWithinSeconds":60,"payload":\#(body)}"#)
  }

  /// The digest that another version made of the same operation.
  private static func replaceDigest(_ world: SimulatedWorld, _ account: String) async throws {
    let id = try #require(AccountID(account))
    try await world.server.agent.vault.commit { vault throws(AgentFailure) in
      let profile = try vault.operations.readable(.id(id))
      let changed = try vault.operations.all(of: profile).map { operation in
        let digest = "\"digest\":\""
        let text = operation.record.withBytes { String(decoding: $0, as: UTF8.self) }
        let start = text.range(of: digest)!.upperBound
        let end = text[start...].firstIndex(of: "\"")!
        return Operation(Secret(text: text[..<start] + "AAAA" + text[end...]), id: operation.id)!
      }
      return ChangeSet(
        changed.map { .put(profile.partition, .operation, id: $0.id, $0.record) },
        memory: [.operations(profile.partition, QueuedOperations(changed))], of: id, result: ())
    }
  }

  @Test("a repeated operation is found by its members where its digest is of another form")
  func repeated() throws {
    try SimulatedWorld(seed: 5).run { world in
      let provider = try await world.provider("idp")
      let account = try await world.signIn("alice", at: provider, alias: "work")
      let policy =
        #"{"name":"default","version":1,"capabilities":{"note":{"kind":"write","offlineWindowSeconds":86400}}}"#
      _ = try await Self.call(world, "policy.set", #"{"name":"default","policy":\#(policy)}"#)
      let first = try await Self.enqueue(world, body: "1")
      let name = try #require(first.result?["operation"]?.stringValue, "\(first)")
      try await Self.replaceDigest(world, account)
      #expect(try await Self.enqueue(world, body: "1").result?["operation"]?.stringValue == name)
      #expect(try await Self.enqueue(world, body: "2").code == -32602)
      try await world.restart()
      #expect(try await Self.enqueue(world, body: "1").result?["operation"]?.stringValue == name)
    }
  }
}
