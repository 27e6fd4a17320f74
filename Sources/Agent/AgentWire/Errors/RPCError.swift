package import AgentModel
internal import AgentPorts
package import AgentProtocol
internal import AgentStore
package import JSONRPC

/// An error of the contract (docs/protocol.md, Errors). It holds no input and no secret, only texts of the agent.
package struct RPCError: Error, Sendable {
  /// Facts of one error beyond the common ones.
  package enum Detail: Sendable {
    case text(String), number(Int64), texts([String]), flag(Bool)
    /// Members of `data` that are objects.
    case objects([[(String, String)]])
    case decision(WireDecision)
  }

  package var kind: FailureKind
  /// The failure, its consequences and the next step, for a person.
  var message: String
  package var account: AccountID?
  var retryAfter: Milliseconds?
  package var reason: String?
  var remedies: [WireRemedy] = []
  package var details: [(name: String, value: Detail)] = []
  var retryable: Bool

  package init(_ kind: FailureKind, _ message: String, retryable: Bool? = nil) {
    self.kind = kind
    self.message = message
    self.retryable = retryable ?? kind.isRetryable
  }

  package func with(_ change: (inout RPCError) -> Void) -> RPCError {
    var copy = self
    change(&copy)
    return copy
  }

  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("code")
    writer.integer(kind.code)
    writer.key("message")
    writer.string(message)
    writer.key("data")
    writer.beginObject()
    writer.key("name")
    writer.string(kind.rawValue)
    writer.key("retryable")
    writer.bool(retryable)
    writer.member("account", account?.text)
    // A limit of 0 in the answer would invite a retry loop.
    writer.member("retryAfterMs", retryAfter.map { max(1, $0.count) })
    writer.member("reason", reason)
    if !remedies.isEmpty { writer.member("remedies", remedies.map(\.rawValue)) }
    for (name, value) in details {
      writer.key(name)
      switch value {
      case .text(let text): writer.string(text)
      case .number(let number): writer.integer(number)
      case .flag(let flag): writer.bool(flag)
      case .decision(let decision): decision.write(to: &writer)
      case .texts(let texts):
        writer.beginArray()
        for text in texts { writer.string(text) }
        writer.endArray()
      case .objects(let objects):
        writer.beginArray()
        for object in objects {
          writer.beginObject()
          for (name, text) in object {
            writer.key(name)
            writer.string(text)
          }
          writer.endObject()
        }
        writer.endArray()
      }
    }
    writer.endObject()
    writer.endObject()
  }
}

extension RPCError {
  package static func overloaded(_ what: String) -> RPCError { RPCError(AgentFailure.overloaded(what)) }

  package static func invalidParams(_ path: String, expected: String) -> RPCError {
    RPCError(AgentFailure.invalidParameter(path, expected: expected))
  }

  static let requestCancelled = RPCError(AgentFailure.cancelled)
  static let shuttingDown = RPCError(AgentFailure.shuttingDown)
}
