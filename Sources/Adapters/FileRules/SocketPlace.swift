internal import Glibc

/// Where the agent's socket is when no option names it: one rule for the agent, the commands and all clients
/// (docs/protocol.md, Programs).
package struct SocketPlace: Sendable {
  /// Why the rule names no place.
  package enum Fault: Error, Hashable {
    /// `LANYARD_SOCKET`, which is not an absolute path.
    case relative(String)
    /// The directory of last resort, which another user could serve.
    case unsafe(directory: String, FileFault)
  }

  /// Where a login session makes a directory for each user.
  private let sessions: String
  private let temporary: String

  package init(sessions: String = "/run/user", temporary: String = "/tmp") {
    (self.sessions, self.temporary) = (sessions, temporary)
  }

  /// `$LANYARD_SOCKET`, else `$XDG_RUNTIME_DIR/lanyard/agent.sock`, else `/run/user/UID/lanyard/agent.sock` if
  /// `/run/user/UID` belongs to this user, else `/tmp/lanyard-UID/agent.sock`.
  ///
  /// - Parameter environment: the value of a variable; nil if it is empty or not set.
  package func path(environment: (String) -> String?) throws(Fault) -> String {
    if let path = environment("LANYARD_SOCKET") {
      guard path.hasPrefix("/") else { throw .relative(path) }
      return path
    }
    // A relative one is to be ignored (XDG Base Directory Specification).
    if let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") {
      return "\(directory)/lanyard/agent.sock"
    }
    let session = "\(sessions)/\(geteuid())"
    if (try? FileRule.ownDirectory.check(path: session)) != nil { return "\(session)/lanyard/agent.sock" }
    return "\(try temporaryDirectory())/agent.sock"
  }

  /// A program that starts an agent at this socket locks this file (docs/protocol.md, Programs).
  ///
  /// - Parameter directory: the socket's.
  package static func startLock(in directory: String) -> String { "\(directory)/start.lock" }

  /// Any user can make files in `/tmp`, so a folder that stands there already must be this user's alone. Another user can't
  /// replace it then, since `/tmp` is sticky.
  private func temporaryDirectory() throws(Fault) -> String {
    let directory = "\(temporary)/lanyard-\(geteuid())"
    do throws(FileFault) {
      try FileRule.privateDirectory.check(path: directory)
    } catch {
      guard error == .system(ENOENT) else { throw .unsafe(directory: directory, error) }
    }
    return directory
  }
}

extension SocketPlace.Fault: CustomStringConvertible {
  /// One sentence for a person.
  package var description: String {
    switch self {
    case .relative(let path): "LANYARD_SOCKET must be an absolute path; it is `\(path)`."
    case .unsafe(let directory, _):
      "The agent's socket has no directory: XDG_RUNTIME_DIR is not set, and \(directory) is not a directory that only you "
        + "can use."
    }
  }
}
