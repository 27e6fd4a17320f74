/// Where the agent's state is when no option names another place: one rule for the agent and the commands
/// (docs/protocol.md, Programs).
package enum StatePlace {
  /// Why the rule names no place.
  package enum Fault: Error, Hashable {
    /// `LANYARD_STATE_DIR`, which is not an absolute path: it would name another store in every directory.
    case relative(String)
    case noHome
  }

  /// `$LANYARD_STATE_DIR`, else `$XDG_STATE_HOME/lanyard`, else `~/.local/state/lanyard`.
  ///
  /// - Parameter environment: the value of a variable; nil if it is empty or not set.
  package static func path(environment: (String) -> String?) throws(Fault) -> String {
    if let path = environment("LANYARD_STATE_DIR") {
      guard path.hasPrefix("/") else { throw .relative(path) }
      return path
    }
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let directory = environment("XDG_STATE_HOME"), directory.hasPrefix("/") { return "\(directory)/lanyard" }
    guard let home = environment("HOME"), home.hasPrefix("/") else { throw .noHome }
    return "\(home)/.local/state/lanyard"
  }
}

extension StatePlace.Fault: CustomStringConvertible {
  /// One sentence for a person.
  package var description: String {
    switch self {
    case .relative(let path): "LANYARD_STATE_DIR must be an absolute path; it is `\(path)`."
    case .noHome: "The agent has no state directory: HOME is not set, or is no absolute path."
    }
  }
}
