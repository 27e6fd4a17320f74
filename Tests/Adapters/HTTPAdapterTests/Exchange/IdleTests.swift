import AgentPorts
import Foundation
import Testing

import HTTPAdapter

/// The thread of the exchange starts on demand, sleeps while idle, and ends after a while.
@Suite struct IdleTests {
  /// The number of times that `thread` went to sleep; nil if the thread does not exist.
  static func sleeps(of thread: String) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/\(thread)/status", encoding: .utf8) else { return nil }
    return status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      .flatMap { Int($0.split(separator: "\t")[1]) }
  }

  @Test func idleThread_isNotWoken() async throws {
    let clock = CountingClock()
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    _ = makeExchange()
    let exchange = CurlExchange(clock: clock, lingerMilliseconds: 600_000)
    #expect(await exchange.send(get(server.url)).summary == "200 ")
    let thread = try #require(clock.threads.first)
    // The thread goes to sleep once, and does not wake while the test watches.
    try await Task.sleep(for: .milliseconds(300))
    let before = try #require(Self.sleeps(of: thread))
    try await Task.sleep(for: .milliseconds(700))
    #expect(Self.sleeps(of: thread) == before)
  }

  @Test func idleThread_endsAndTheNextRequestStartsAnother() async throws {
    let clock = CountingClock()
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    _ = makeExchange()
    let exchange = CurlExchange(clock: clock, lingerMilliseconds: 20)
    #expect(await exchange.send(get(server.url)).summary == "200 ")
    let first = try #require(clock.threads.first)
    while Self.sleeps(of: first) != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(await exchange.send(get(server.url)).summary == "200 ")
    #expect(server.connections == 2)
  }

  @Test func restartingThread_losesNoRequest() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    _ = makeExchange()
    let exchange = CurlExchange(clock: CountingClock(), lingerMilliseconds: 0)
    for round in 0..<200 {
      #expect(await exchange.send(get(server.url + "/\(round)")).summary == "200 ")
    }
    #expect(server.connections == 200)
  }
}
