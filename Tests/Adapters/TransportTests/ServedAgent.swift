import AgentServing
import CPlatform
import Foundation
import UnixTransport

/// An agent on a real socket with its reading thread. The clock stands still until the test advances it.
final class ServedAgent: Sendable {
  let agent: AgentUnderTest
  let path: String
  private let directory = TemporaryDirectory()
  private let server: LineServer
  /// Ends with the reading thread.
  private let ended: AsyncStream<Never>

  init(limits: ServingLimits = ServingLimits()) async throws {
    agent = try await AgentUnderTest(limits: limits)
    path = directory.path + "/agent.sock"
    let listener = lanyard_bind_unix(path)
    guard listener >= 0, listen(listener, 128) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
    let server = LineServer(host: agent.service, clock: agent.clock)
    self.server = server
    agent.onShutDown { server.stop() }
    let (stream, end) = AsyncStream<Never>.makeStream()
    ended = stream
    // A separate thread from the start: it must not wait for the pool that other tests keep busy.
    Thread {
      server.run(listener: listener)
      close(listener)
      end.finish()
    }.start()
  }

  func client() throws -> SocketClient { try SocketClient(path) }

  /// Advances the clock and makes the reading thread look at it.
  func advance(seconds: Int64) throws {
    agent.clock.advance(seconds: seconds)
    let poke = try client()
    poke.send(SocketTests.hello)
    _ = poke.line()
  }

  /// Returns when the reading thread and all requests in flight have ended.
  func shutDown() async {
    await agent.shutDown()
    for await _ in ended {}
  }
}
