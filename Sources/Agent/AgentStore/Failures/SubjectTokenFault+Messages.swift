internal import AgentPorts

extension SubjectTokenFault {
  /// For a person; what was kept follows it.
  var message: String {
    switch self {
    case .unreadable: "The file with the machine's token can't be read. Try again once it is there."
    case .foreign: "The file with the machine's token belongs to another user, or others can write it."
    case .malformed: "The file with the machine's token has no signed JWT in it."
    }
  }
}
