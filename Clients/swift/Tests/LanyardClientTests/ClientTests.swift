import Foundation
import Testing

@testable import LanyardClient

@Suite("The client and a scripted agent", .timeLimit(.minutes(1))) struct ClientTests {
  private let agent: ScriptedAgent

  init() throws { agent = try ScriptedAgent() }

  @Test("Many tasks share one connection, with more calls than the agent has places")
  func shared() async throws {
    agent.on("token.get") { request, _ in
      .object(ScriptedAgent.token.object!.merging(["fingerprint": request["params"]!["account"]!]) { $1 })
    }
    let lanyard = agent.client()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let token = try await lanyard.token.get(account: "a\(number)")
          #expect(token.fingerprint == "a\(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(agent.peers.count == 1)
    #expect(agent.received("agent.hello").count == 1)
  }

  @Test("Without a session the socket's directory is one of this user alone")
  func directoryWithoutASession() throws {
    let place = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    let directory = "\(place)/lanyard-\(geteuid())"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: place) }
    #expect(try AgentPaths.privateDirectory(in: place) == directory)
    mkdir(directory, 0o700)
    #expect(try AgentPaths.privateDirectory(in: place) == directory)
    chmod(directory, 0o710)
    #expect(throws: LanyardError.self) { try AgentPaths.privateDirectory(in: place) }
    rmdir(directory)
    symlink("/", directory)
    #expect(throws: LanyardError.self) { try AgentPaths.privateDirectory(in: place) }
  }

  @Test("The end of a task cancels its call in the agent")
  func cancelled() async throws {
    agent.on("signIn.wait") { _, _ in nil }
    let lanyard = agent.client(timeout: nil)
    let task = Task { try await lanyard.signIn.wait(signIn: "s") }
    let request = try await agent.receives("signIn.wait")
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await agent.receives("$/cancel")["params"] == ["id": request["id"]!])
  }

  @Test("A call that waits for a place is forgotten when its task ends")
  func cancelledInTheQueue() async throws {
    agent.on("signIn.wait") { _, _ in nil }
    let lanyard = agent.client(timeout: nil)
    let tasks = (0..<6).map { number in Task { try await lanyard.signIn.wait(signIn: "s\(number)") } }
    _ = try await agent.receives("signIn.wait", 4)
    try await Task.sleep(for: .milliseconds(50))
    #expect(agent.received("signIn.wait").count == 4)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    _ = try await agent.receives("$/cancel", 4)
    #expect(agent.received("signIn.wait").count == 4)
    lanyard.close()
  }

  @Test("A call that is out of time is cancelled in the agent")
  func outOfTime() async throws {
    agent.on("signIn.wait") { _, _ in nil }
    let lanyard = agent.client()
    try await lanyard.connect()
    await #expect { try await lanyard.within(.milliseconds(30)).signIn.wait(signIn: "s") } throws: {
      ($0 as? LanyardError)?.code == .callTimeout
    }
    _ = try await agent.receives("$/cancel")
  }

  @Test("Calls in flight fail at once when the agent goes, and the next one connects again")
  func agentGoes() async throws {
    agent.on("signIn.wait") { _, _ in nil }
    agent.on("token.get") { _, _ in ScriptedAgent.token }
    let lanyard = agent.client()
    let task = Task { try await lanyard.signIn.wait(signIn: "s") }
    _ = try await agent.receives("signIn.wait")
    agent.end()
    await #expect { try await task.value } throws: { ($0 as? LanyardError)?.code == .connectionLost }
    await #expect { try await lanyard.token.get(account: "work") } throws: {
      ($0 as? LanyardError)?.code == .agentNotRunning
    }
    try agent.listen()
    #expect(try await lanyard.token.get(account: "work").generation == 1)
    #expect(agent.received("signIn.wait").count == 1)
  }

  @Test("A hundred agents that go between two calls are not noticed")
  func agentGoesBetweenCalls() async throws {
    agent.on("token.get") { _, _ in ScriptedAgent.token }
    let lanyard = agent.client()
    for _ in 0..<100 {
      _ = try await lanyard.token.get(account: "work")
      agent.peers.last?.close()
      // The end arrives some time during the next call's way out.
      do {
        _ = try await lanyard.token.get(account: "work")
      } catch LanyardError.connectionLost {
        continue
      }
    }
  }

  @Test("An error has its code, its name and what the agent told")
  func errors() async throws {
    agent.on("token.get") { request, peer in
      peer.fail(
        request, 2004, "reauthenticationRequired", ["account": "acc_r", "remedies": ["reauthenticate", "pray"]])
      return nil
    }
    agent.on("account.get") { request, peer in
      peer.fail(request, 9999, "newInTheFuture", ["retryable": true])
      return nil
    }
    let lanyard = agent.client()
    do {
      _ = try await lanyard.token.get(account: "retired")
      Issue.record("no error")
    } catch LanyardError.reauthenticationRequired {
    }
    do {
      _ = try await lanyard.token.get(account: "retired")
    } catch let error as LanyardError {
      #expect(error.account == "acc_r")
      #expect(error.remedies == [.reauthenticate, "pray"])
      #expect(error.code == .reauthenticationRequired)
    }
    do {
      _ = try await lanyard.account.get(account: "x")
    } catch let error as LanyardError {
      #expect((error.code.number, error.code.name, error.retryable) == (9999, "newInTheFuture", true))
    }
  }

  @Test("A request that the agent would refuse for its length is not sent")
  func tooLarge() async throws {
    let lanyard = agent.client()
    let long = String(repeating: "x", count: 70_000)
    await #expect { try await lanyard.token.get(account: long) } throws: {
      ($0 as? LanyardError)?.code == .requestTooLarge
    }
    #expect(agent.received("token.get").isEmpty)
  }

  @Test("A closed client calls no more")
  func closed() async throws {
    agent.on("signIn.wait") { _, _ in nil }
    let lanyard = agent.client()
    let task = Task { try await lanyard.signIn.wait(signIn: "s") }
    _ = try await agent.receives("signIn.wait")
    lanyard.close()
    await #expect { try await task.value } throws: { ($0 as? LanyardError)?.code == .clientClosed }
    await #expect { try await lanyard.token.get(account: "work") } throws: {
      ($0 as? LanyardError)?.code == .clientClosed
    }
    #expect("\(lanyard)" == "Lanyard(closed)")
  }

  @Test("The connection ends when the last copy of the client is released")
  func released() async throws {
    do {
      let lanyard = agent.client()
      try await lanyard.connect()
    }
    try await Task.sleep(for: .milliseconds(100))
    #expect(openSockets(to: agent.path) == 0)
  }

  /// Connected sockets of this process that were accepted at the path.
  private func openSockets(to path: String) -> Int {
    let table = (try? String(contentsOfFile: "/proc/net/unix", encoding: .utf8)) ?? ""
    return table.split(separator: "\n").filter { line in
      let fields = line.split(separator: " ")
      return fields.count == 8 && fields[7] == path && fields[5] == "03"
    }.count
  }
}
