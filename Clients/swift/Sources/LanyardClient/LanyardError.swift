#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An error that the agent answered, or a failure of the client.
///
/// Catch a code by its name, or look at ``code``:
///
/// ```swift
/// do {
///   token = try await lanyard.token.get(account: "work")
/// } catch LanyardError.agentLocked {
///   …
/// } catch let error as LanyardError where error.code == .reauthenticationRequired {
///   print(error.account, error.reason, error.remedies)
/// }
/// ```
///
/// Nothing that prints an error shows ``data`` or the request, and the agent never echoes input, so an error may be
/// logged.
public struct LanyardError: Error, Sendable, Equatable {
  /// What went wrong, for programs.
  ///
  /// The errors of the agent have the numbers of the contract; failures of the client have none. A code that this
  /// version does not know keeps its number and name.
  public struct Code: Sendable {
    /// The JSON-RPC error code; nil for a failure of the client.
    public let number: Int?
    /// The stable name, such as `reauthenticationRequired`.
    public let name: String

    /// A code of the agent.
    public init(number: Int, name: String) {
      self.number = number
      self.name = name
    }

    /// A failure of the client.
    init(_ name: String) {
      number = nil
      self.name = name
    }
  }

  /// What went wrong, for programs.
  public let code: Code
  /// What went wrong, for people.
  public let message: String
  /// What the agent told about the error, under the names of the wire.
  public let data: [String: JSON]

  package init(_ code: Code, _ message: String, data: [String: JSON] = [:]) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// True if the same call may succeed later without any action.
  public var retryable: Bool {
    if code.number == nil { return Self.worthRetrying.contains(code) }
    return data["retryable"]?.bool == true
  }

  /// The value of a member of `data`; nil if it is absent or of another type.
  func member<Value: WireValue>(_ name: String, as _: Value.Type = Value.self) -> Value? {
    guard let value = data[name] else { return nil }
    var writer = WireWriter()
    writer.value(value)
    guard let document = try? WireDocument(parsing: writer.buffer) else { return nil }
    return try? Value(document.root, at: "")
  }
}

/// Failures of the client. They have no number.
extension LanyardError {
  /// No agent accepts connections at the socket.
  public static let agentNotRunning = Code("agentNotRunning")
  /// No agent runs, and none could be started. The message says why.
  public static let agentStartFailed = Code("agentStartFailed")
  /// The time-out of the call ended it; the client cancelled the request.
  public static let callTimeout = Code("callTimeout")
  /// The client was used after ``Lanyard/close()``.
  public static let clientClosed = Code("clientClosed")
  /// The connection ended during the call. The call may have taken effect.
  public static let connectionLost = Code("connectionLost")
  /// The request's URL has an origin that the user of `LanyardHTTP` did not name. Nothing was sent.
  public static let originRefused = Code("originRefused")
  /// The peer violates the contract. The message names the place, never the value.
  public static let protocolError = Code("protocolError")
  /// The request is longer than the agent's limit for a line. It was not sent.
  public static let requestTooLarge = Code("requestTooLarge")
  /// Another user's process serves the socket. Nothing was sent to it.
  public static let untrustedAgent = Code("untrustedAgent")

  private static let worthRetrying: Set<Code> = [.agentNotRunning, .callTimeout, .connectionLost]
}

extension LanyardError.Code {
  /// No agent accepts connections at the socket.
  public static let agentNotRunning = LanyardError.agentNotRunning
  /// No agent runs, and none could be started. The message says why.
  public static let agentStartFailed = LanyardError.agentStartFailed
  /// The time-out of the call ended it; the client cancelled the request.
  public static let callTimeout = LanyardError.callTimeout
  /// The client was used after ``Lanyard/close()``.
  public static let clientClosed = LanyardError.clientClosed
  /// The connection ended during the call. The call may have taken effect.
  public static let connectionLost = LanyardError.connectionLost
  /// The request's URL has an origin that the user of `LanyardHTTP` did not name. Nothing was sent.
  public static let originRefused = LanyardError.originRefused
  /// The peer violates the contract. The message names the place, never the value.
  public static let protocolError = LanyardError.protocolError
  /// The request is longer than the agent's limit for a line. It was not sent.
  public static let requestTooLarge = LanyardError.requestTooLarge
  /// Another user's process serves the socket. Nothing was sent to it.
  public static let untrustedAgent = LanyardError.untrustedAgent
}

extension LanyardError.Code: Hashable, CustomStringConvertible {
  /// True if both have the same number, or no number and the same name.
  public static func == (one: Self, other: Self) -> Bool {
    one.number == other.number && (one.number != nil || one.name == other.name)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    if number == nil { hasher.combine(name) }
  }

  /// Matches an error in a `catch`.
  public static func ~= (code: Self, error: any Error) -> Bool { (error as? LanyardError)?.code == code }

  /// The name and the number.
  public var description: String { number.map { "\(name) (\($0))" } ?? name }
}

extension LanyardError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The message, the name and the number.
  public var description: String { message.isEmpty ? "\(code)" : "\(message) [\(code)]" }
  /// The message, the name and the number.
  public var debugDescription: String { description }
  /// A mirror without ``data``.
  public var customMirror: Mirror {
    Mirror(self, children: ["code": code.description, "message": message], displayStyle: .struct)
  }
}

extension LanyardError {
  /// Reads an error object (JSON-RPC 2.0 §5.1).
  init(_ node: WireNode?) {
    guard let node, node.mark.kind == .object else {
      self.init(.protocolError, "an error of the agent is not an object")
      return
    }
    guard let number = node["code"]?.integer else {
      self.init(.protocolError, "an error of the agent has no code")
      return
    }
    let data = node["data"]?.json.object ?? [:]
    let name = data["name"]?.string ?? Code.names[number] ?? "error"
    self.init(Code(number: number, name: name), node["message"]?.string ?? "", data: data)
  }
}

extension LanyardError: LocalizedError {
  /// The message, the name and the number.
  public var errorDescription: String? { description }
}
