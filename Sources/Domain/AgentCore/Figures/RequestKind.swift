/// The kinds of requests of clients that figures tell apart (docs/metrics.md).
public enum RequestKind: String, CaseIterable, Hashable, Sendable {
  case token, authorization, request, operation
  /// Waits for a person: a sign-in, a PIN, a passphrase.
  case person
  case other

  /// The kind of a method of the contract.
  public init(method: String) {
    self =
      switch Substring(method.utf8.prefix { $0 != UInt8(ascii: ".") }) {
      case "token", "identity", "credential": .token
      case "authorization": .authorization
      case "request": .request
      case "operation": .operation
      case "signIn", "stepUp": .person
      case "agent" where method == "agent.unlock": .person
      default: .other
      }
  }
}
