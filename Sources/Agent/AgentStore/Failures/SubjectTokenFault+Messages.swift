package import AgentCore
package import AgentPorts

extension SubjectTokenFault {
  /// For a person; what was kept follows it.
  ///
  /// - Parameter path: of the file, which only the provider's configuration names; nil if it is not known.
  func message(of path: String?) -> String {
    let file =
      path.map { "the file \($0), in which this machine's token should be," } ?? "the file of this machine's token"
    return switch self {
    case .missing: "There is no token, since \(file) is missing. Try again once the platform has written it."
    case .unreadable: "There is no token, since \(file) can't be read. Let your user read it, and try again."
    case .foreign:
      "There is no token, since \(file) belongs to another user, who could put another token there. Make your user or root its owner."
    case .writable:
      "There is no token, since \(file) can be written by others, who could put another token there. `chmod go-w` ends that."
    case .empty: "There is no token, since \(file) is empty. Try again once the platform has written it."
    case .tooLarge:
      "There is no token, since \(file) is larger than 64 KiB, as no token is. Add the provider with the file that has the token."
    case .malformed:
      "There is no token, since \(file) has no token in it. Add the provider with the file that has the token."
    }
  }
}

extension ExchangeFailure {
  /// Nil unless a machine's file has no token, so that no provider was asked.
  package var subjectTokenFault: SubjectTokenFault? { reason.flatMap { SubjectTokenFault(rawValue: $0) } }
}
