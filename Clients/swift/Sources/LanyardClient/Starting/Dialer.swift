/// The way of one client to a connection: it finds the socket, starts the agent if it may, and says hello.
struct Dialer: Sendable {
  /// Nil: the socket that the commands use.
  let socketPath: String?
  /// Nil: only at the socket that the commands use.
  let start: Bool?
  let name: String
  let version: String
  let grant: Secret?

  private static let firstPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(5)

  /// - Throws: `LanyardError`, or `CancellationError`.
  func connect(startsAgent: Bool) async throws -> (Connection, AgentHelloResult) {
    let connection = try Connection(socket: try await descriptor(startsAgent: startsAgent))
    connection.start()
    do {
      let answer = try await connection.call("agent.hello", params: hello)
      let hello = try AgentHelloResult(answer.result, at: "")
      connection.obey(hello.limits)
      return (connection, hello)
    } catch {
      connection.lose(Connection.wentAway)
      throw error is Connection.NotSent ? Connection.wentAway : error
    }
  }

  private func descriptor(startsAgent: Bool) async throws -> Int32 {
    let socket = AgentSocket(path: try socketPath ?? AgentPaths.socket())
    let mayStart = startsAgent && (start ?? (socketPath == nil)) && !Environment.forbidsStart
    var pause = Self.firstPause
    while true {
      switch try socket.connect() {
      case .connected(let descriptor): return descriptor
      case .absent(let failure):
        guard mayStart else { throw socket.notRunning(failure) }
        return try await AgentStarter(socket).start()
      case .busy: try await Task.sleep(for: pause)
      }
      pause = min(pause * 2, Self.longestPause)
    }
  }

  private var hello: WireWriter {
    var writer = WireWriter()
    writer.beginObject()
    writer.member("client", ClientIdentity(name: name, version: version))
    writer.member("protocol", ContractTable.protocolVersion)
    writer.member("grant", grant)
    writer.endObject()
    return writer
  }
}
