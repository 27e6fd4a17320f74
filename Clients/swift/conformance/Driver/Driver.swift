internal import Foundation
internal import LanyardClient
internal import LanyardHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Obeys the commands of `Clients/conformance/README.md`.
final class Driver: Sendable {
  private struct State {
    var clients: [String: Lanyard] = [:]
    var streams: [String: EventStream] = [:]
    var tasks: [String: Task<Void, Never>] = [:]
    /// What `show` prints.
    var ended: [String: any Sendable] = [:]
  }

  private let state = Locked(State())

  /// A command that is not as the README says.
  private struct BadCommand: Error {}

  /// Begins a command. Returns once it has begun.
  func begin(_ command: JSON) {
    guard let id = command["id"]?.string, let verb = command["do"]?.string else { return }
    let task = Task.immediateDetached {
      do {
        let result = try await self.obey(verb, command, id)
        Output.say(id, "result", result)
        if verb == "events" { try await self.follow(id) }
      } catch {
        self.state.withLock { $0.ended[id] = error }
        Output.say(id, "error", JSON(error))
      }
    }
    state.withLock { $0.tasks[id] = task }
  }

  /// Closes all clients.
  func close() {
    for client in state.withLock({ $0.clients.values }) { client.close() }
  }

  private func obey(_ verb: String, _ command: JSON, _ id: String) async throws -> JSON {
    switch verb {
    case "open": return try await open(command)
    case "call":
      return try await client(command).call(try text("method", command), command["params"])
    case "typed": return try await typed(command, id)
    case "cancel":
      state.withLock { $0.tasks[command["of"]?.string ?? ""] }?.cancel()
      return [:]
    case "show":
      guard let value = state.withLock({ $0.ended[command["of"]?.string ?? ""] }) else { throw BadCommand() }
      return ["text": .string(Self.prints(value))]
    case "events":
      let stream = try await client(command).events(
        types: command["types"]?.array?.compactMap { $0.string.map(EventType.init(rawValue:)) },
        accounts: command["accounts"]?.array?.compactMap(\.string),
        since: try command["since"].map { try EventPosition(json: $0) })
      state.withLock { $0.streams[id] = stream }
      return [:]
    case "position":
      return try stream(command).position?.json(revealingSecrets: true) ?? .null
    case "stop":
      try stream(command).close()
      return [:]
    case "http": return try await http(command)
    case "load": return try await load(command)
    case "close":
      try client(command).close()
      return [:]
    default: throw BadCommand()
    }
  }

  private func open(_ command: JSON) async throws -> JSON {
    let lanyard = Lanyard(
      socketPath: command["socket"]?.string,
      callTimeout: command["timeoutMs"]?.integer.map { .milliseconds($0) },
      grant: command["grant"]?.string.map { Secret($0) }, name: command["name"]?.string ?? "lanyard-swift",
      version: command["version"]?.string ?? Lanyard.version, start: command["start"]?.bool)
    let name = try text("client", command)
    state.withLock { $0.clients[name] = lanyard }
    guard command["connect"] == true else { return [:] }
    return try await lanyard.connect().json(revealingSecrets: true)
  }

  private func typed(_ command: JSON, _ id: String) async throws -> JSON {
    let params = try WireMembers(command["params"] ?? [:])
    guard let record = try await TypedCalls.call(try text("method", command), params, of: client(command)) else {
      throw BadCommand()
    }
    state.withLock { $0.ended[id] = record }
    return record.json(revealingSecrets: true)
  }

  private func follow(_ id: String) async throws {
    guard let stream = state.withLock({ $0.streams[id] }) else { return }
    for try await event in stream { Output.say(id, "event", event.json(revealingSecrets: true)) }
    Output.say(id, "ended", true)
  }

  private func http(_ command: JSON) async throws -> JSON {
    let session = LanyardSession(
      try client(command), account: try text("account", command),
      origins: command["origins"]?.array?.compactMap(\.string) ?? [],
      scopes: command["scopes"]?.array?.compactMap(\.string), resource: command["resource"]?.string)
    guard let url = URL(string: try text("url", command)) else {
      throw LanyardError(.originRefused, "the URL can't be read")
    }
    var request = URLRequest(url: url)
    request.httpMethod = command["method"]?.string ?? "GET"
    request.httpBody = command["body"]?.string.map { Data($0.utf8) }
    let (data, response) = try await session.data(for: request)
    return ["status": .integer(response.statusCode), "body": .string(String(decoding: data, as: UTF8.self))]
  }

  private func load(_ command: JSON) async throws -> JSON {
    let lanyard = try client(command)
    let account = try text("account", command)
    let count = command["count"]?.integer ?? 1
    let callers = command["callers"]?.integer ?? 1
    let began = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for caller in 0..<callers {
        group.addTask {
          for _ in 0..<(count / callers + (caller < count % callers ? 1 : 0)) {
            _ = try await lanyard.token.get(account: account)
          }
        }
      }
      try await group.waitForAll()
    }
    return ["seconds": .number((ContinuousClock.now - began) / .seconds(1))]
  }

  private func client(_ command: JSON) throws -> Lanyard {
    guard let name = command["client"]?.string, let client = state.withLock({ $0.clients[name] }) else {
      throw BadCommand()
    }
    return command["timeoutMs"]?.integer.map { client.within(.milliseconds($0)) } ?? client
  }

  private func stream(_ command: JSON) throws -> EventStream {
    guard let stream = state.withLock({ $0.streams[command["of"]?.string ?? ""] }) else { throw BadCommand() }
    return stream
  }

  private func text(_ name: String, _ command: JSON) throws -> String {
    guard let text = command[name]?.string else { throw BadCommand() }
    return text
  }

  /// All ways in which Swift prints a value.
  private static func prints(_ value: any Sendable) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    var debugged = ""
    debugPrint(value, to: &debugged)
    let texts = [dumped, debugged, "\(value)", String(describing: value), String(reflecting: value)]
    guard let error = value as? any Error else { return texts.joined(separator: "\n") }
    return (texts + [error.localizedDescription, "\(error as NSError)"]).joined(separator: "\n")
  }
}
