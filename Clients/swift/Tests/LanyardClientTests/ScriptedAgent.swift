import Foundation
@testable import LanyardClient

/// An agent on a real socket, in threads of the test's own process. It answers `agent.hello`, `event.subscribe` and
/// `event.unsubscribe` by itself.
final class ScriptedAgent: Sendable {
  typealias Handler = @Sendable (_ request: JSON, _ peer: Peer) -> JSON?

  /// One client of the agent.
  final class Peer: Sendable {
    private let descriptor: Int32
    /// True while the descriptor is this peer's.
    private let isOpen = Locked(true)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func raw(_ bytes: [UInt8]) {
      isOpen.withLock { isOpen in
        guard isOpen else { return }
        var rest = bytes[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
          guard count > 0 else { return }
          rest = rest.dropFirst(count)
        }
      }
    }

    func say(_ message: JSON) { raw(Array((message.text + "\n").utf8)) }

    func answer(_ request: JSON, _ result: JSON) {
      say(["jsonrpc": "2.0", "id": request["id"] ?? .null, "result": result])
    }

    func fail(_ request: JSON, _ code: Int, _ name: String, _ data: [String: JSON] = [:]) {
      let all = data.merging(["name": .string(name), "retryable": .bool(data["retryable"] == true)]) { $1 }
      say([
        "jsonrpc": "2.0", "id": request["id"] ?? .null,
        "error": ["code": .integer(code), "message": "about it", "data": .object(all)],
      ])
    }

    func event(_ sequence: Int, _ type: String = "token.refreshed", epoch: String = "epoch-1", _ data: JSON = [:]) {
      say([
        "jsonrpc": "2.0", "method": "event",
        "params": [
          "subscription": "sub-1", "epoch": .string(epoch), "sequence": .integer(sequence), "type": .string(type),
          "at": "2030-01-01T00:00:00.000Z", "account": "acc_alice", "data": data,
        ],
      ])
    }

    /// Ends the connection.
    func close() {
      isOpen.withLock { isOpen in
        if isOpen { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
      }
    }

    fileprivate func serve(_ handle: (String) -> Void) {
      var buffer: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { break }
        buffer += piece[..<count]
        while let end = buffer.firstIndex(of: 0x0A) {
          handle(String(decoding: buffer[..<end], as: UTF8.self))
          buffer.removeFirst(end + 1)
        }
      }
      isOpen.withLock { isOpen in
        isOpen = false
        _ = Glibc.close(descriptor)
      }
    }
  }

  private struct State {
    var handlers: [String: Handler] = [:]
    var received: [JSON] = []
    var peers: [Peer] = []
    var listener: Int32 = -1
  }

  let path: String
  private let directory: URL
  private let state = Locked(State())

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "lanyard-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appending(path: "agent.sock").path
    on("agent.hello") { _, _ in Self.hello }
    on("event.subscribe") { _, _ in ["subscription": "sub-1", "epoch": "epoch-1", "sequence": 0, "gap": false] }
    on("event.unsubscribe") { _, _ in [:] }
    on("$/cancel") { _, _ in nil }
    try listen()
  }

  deinit {
    end()
    try? FileManager.default.removeItem(at: directory)
  }

  static let hello: JSON = [
    "agent": ["name": "scripted-agent", "version": "1"], "protocol": "1", "instance": "instance-1",
    "schemaDigest": "digest", "features": [],
    "limits": [
      "lineBytes": 65_536, "bodyLineBytes": 1_048_576, "nesting": 64, "requestsInFlight": 4, "connections": 1024,
      "lineSeconds": 10, "eventBacklogBytes": 1_048_576,
    ],
  ]

  static let token: JSON = [
    "accessToken": "not-a-real-access-token", "tokenType": "Bearer", "expiresAt": "2030-01-01T00:05:00.000Z",
    "expiresInSeconds": 300, "account": "acc_alice", "issuer": "https://idp.example", "scopes": ["openid"],
    "source": "cache", "fingerprint": "f1", "generation": 1,
  ]

  func client(timeout: Duration? = .seconds(20)) -> Lanyard { Lanyard(socketPath: path, callTimeout: timeout) }

  /// The handler's result is the answer; nil is no answer, until the handler's peer says one.
  func on(_ method: String, _ handler: @escaping Handler) { state.withLock { $0.handlers[method] = handler } }

  func received(_ method: String) -> [JSON] {
    state.withLock { $0.received.filter { $0["method"] == .string(method) } }
  }

  /// Waits until the agent received so many requests of a method.
  func receives(_ method: String, _ count: Int = 1) async throws -> JSON {
    while received(method).count < count { try await Task.sleep(for: .milliseconds(2)) }
    return received(method)[count - 1]
  }

  var peers: [Peer] { state.withLock { $0.peers } }

  /// Ends every connection, and listens no more.
  func end() {
    let (listener, peers) = state.withLock { state in
      defer { (state.listener, state.peers) = (-1, []) }
      return (state.listener, state.peers)
    }
    if listener >= 0 {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
    }
    for peer in peers { peer.close() }
    unlink(path)
  }

  func listen() throws {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, Glibc.listen(listener, 64) == 0 else { throw POSIXError(.EADDRINUSE) }
    state.withLock { $0.listener = listener }
    Thread.detachNewThread { [weak self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        let peer = Peer(descriptor)
        self?.state.withLock { $0.peers.append(peer) }
        Thread.detachNewThread { [weak self] in
          peer.serve { line in self?.handle(line, peer) }
        }
      }
    }
  }

  private func handle(_ line: String, _ peer: Peer) {
    guard let request = try? JSON(parsing: line), let method = request["method"]?.string else { return }
    let handler = state.withLock { state in
      state.received.append(request)
      return state.handlers[method]
    }
    guard let handler else { return peer.fail(request, -32601, "methodNotFound") }
    if let result = handler(request, peer) { peer.answer(request, result) }
  }
}
