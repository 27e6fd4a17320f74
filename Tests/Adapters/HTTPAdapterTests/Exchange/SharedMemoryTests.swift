import AgentModel
import AgentPorts
import Foundation
import Synchronization
import Testing

import HTTPAdapter

/// A response is read only as far as there is memory for it.
@Suite struct SharedMemoryTests {
  private static let long = String(repeating: "x", count: 100_000)

  private func server(_ head: String, _ body: String) -> RawServer {
    RawServer { connection in
      connection.readRequest()
      connection.send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(body)")
    }
  }

  private func get(_ server: RawServer, _ budget: MemoryBudget, timeout: Milliseconds = .seconds(30)) -> HTTPRequest {
    var request = HTTPRequest(method: "GET", url: server.url, timeout: timeout)
    request.memory = budget
    return request
  }

  @Test(arguments: ["Content-Length: 100000", "Connection: close"])
  func longResponse_waitsForItsShare(head: String) async throws {
    let budget = MemoryBudget(bytes: 200_000)
    var other: MemoryBudget.Share? = budget.share(150_000) {}
    let server = server(head, Self.long)
    let outcome = Task { await makeExchange().send(get(server, budget)) }
    // Waits behind the response, so it is asked for until the response has asked.
    while true {
      let probe = budget.share(1) {}
      if !probe.isGranted { break }
      await Task.yield()
    }
    #expect(other?.isGranted == true)
    other = nil
    let response = try #require(await outcome.value.response)
    #expect(response.text == Self.long)
    #expect(response.share?.bytes == 100_000)
    #expect(budget.share(100_000) {}.isGranted)
    #expect(!budget.share(100_001) {}.isGranted)
    withExtendedLifetime(response) {}
  }

  @Test func shortResponse_needsNoShare() async throws {
    let budget = MemoryBudget(bytes: 200_000)
    let other = budget.share(200_000) {}
    let response = try #require(await makeExchange().send(get(server("Content-Length: 5", "hello"), budget)).response)
    #expect(response.text == "hello" && response.share == nil)
    let chunked = server("Connection: close", String(Self.long.prefix(16_000)))
    #expect(await makeExchange().send(get(chunked, budget)).response?.text.count == 16_000)
    withExtendedLifetime(other) {}
  }

  /// The loop's thread may hold the transfer for a moment longer.
  private func waitForAll(of budget: MemoryBudget) async {
    while !budget.share(200_000, granted: {}).isGranted { await Task.yield() }
  }

  @Test(.timeLimit(.minutes(1))) func responseThatNeverGetsItsShare_isTimedOutAndForgotten() async throws {
    let budget = MemoryBudget(bytes: 200_000)
    var other: MemoryBudget.Share? = budget.share(200_000) {}
    let server = server("Content-Length: 100000", Self.long)
    #expect(
      await makeExchange().send(get(server, budget, timeout: Milliseconds(200))).summary == "unknown timedOut")
    other = nil
    #expect(other == nil)
    await waitForAll(of: budget)
  }

  @Test(.timeLimit(.minutes(1))) func cancelledResponse_givesUpItsPlace() async throws {
    let budget = MemoryBudget(bytes: 200_000)
    var other: MemoryBudget.Share? = budget.share(200_000) {}
    let server = server("Content-Length: 100000", Self.long)
    let outcome = Task { await makeExchange().send(get(server, budget)) }
    while server.requests.isEmpty { await Task.yield() }
    outcome.cancel()
    #expect(await outcome.value.summary == "unknown cancelled")
    other = nil
    #expect(other == nil)
    await waitForAll(of: budget)
  }
}
