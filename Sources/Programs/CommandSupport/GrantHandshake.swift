internal import FileRules
internal import Glibc
internal import JSONRPC
internal import Synchronization

/// Presents a caller grant to the agent: the one in `LANYARD_GRANT_FILE`, else the owner's grant, which an agent with
/// `--strict-grants` writes beside its store.
public enum GrantHandshake {
  /// A grant's secret has 43 characters.
  private static let largestBytes = 256
  /// The agent answers `agent.hello` from memory.
  private static let patienceMilliseconds: Int32 = 30_000

  enum Outcome {
    /// The connection can be used: the agent took the grant, or there is none.
    case ready
    /// The agent refused the owner's grant, which an earlier agent wrote: connect again.
    case stale
  }

  /// The grant of a stream, which can be read once: later connections of this process present it, too.
  private static let ofStream = Mutex<Kept?>(nil)

  /// Nothing changes it.
  private final class Kept: @unchecked Sendable {
    let secret: SecretInput

    init(_ secret: consuming SecretInput) { self.secret = secret }
  }

  /// `LANYARD_GRANT_FILE` names a pipe, as `<(…)` does: only one process can read the grant.
  public static var isStream: Bool {
    var information = stat()
    guard let path = Environment.value("LANYARD_GRANT_FILE"), stat(path, &information) == 0 else { return false }
    return information.st_mode & S_IFMT != S_IFREG
  }

  /// For a command that uses the grant and starts a proxy under it.
  public static func refuseStreamForProxy() throws(CommandFailure) {
    guard isStream else { return }
    throw .usage(
      "LANYARD_GRANT_FILE names a pipe, which only one program can read, and the proxy reads it, too. Nothing was started.",
      hints: ["Put the grant into a file, `chmod 600` it, and name that."])
  }

  /// Sends the grant, if one exists.
  ///
  /// - Throws: the agent's refusal of the grant in `LANYARD_GRANT_FILE`.
  static func make(on connection: inout AgentConnection) throws(CommandFailure) -> Outcome {
    if let path = Environment.value("LANYARD_GRANT_FILE") {
      if let kept = ofStream.withLock({ $0 }) {
        try hello(kept.secret, on: &connection)
        return .ready
      }
      guard let secret = try grant(in: path, isOwners: false) else {
        throw .usage(
          "LANYARD_GRANT_FILE names \(path), which can't be read: \(SystemError.message(errno)).")
      }
      let read = Kept(secret)
      if isStream { ofStream.withLock { $0 = read } }
      try hello(read.secret, on: &connection)
      return .ready
    }
    guard let directory = AgentPaths.stateDirectory,
      let secret = try grant(in: "\(directory)/owner-grant", isOwners: true)
    else {
      return .ready
    }
    do throws(CommandFailure) {
      try hello(secret, on: &connection)
      return .ready
    } catch {
      guard error.name == "notPermitted" || error.name == "agentLocked" else { throw error }
      return .stale
    }
  }

  /// Nil if the file can't be opened.
  private static func grant(in path: String, isOwners: Bool) throws(CommandFailure) -> SecretInput? {
    let file: Int32
    do throws(FileFault) {
      file = try FileRule.grant.open(path, followingLinks: !isOwners)
    } catch {
      switch error {
      case .system, .link: return nil
      case .otherKind, .foreignOwner, .openToOthers, .tooLarge: break
      }
      throw CommandFailure(
        .other, name: "unsafeGrant", "The grant in \(path) does not belong to you alone, so it was not used.",
        hints: [
          "Set its mode: \(PathAdvice.closing(file: path)).",
          isOwners
            ? "If others could read it, then end the agent: `lanyard stop`. The next one writes another grant."
            // With the grant these commands are not allowed.
            : "If others could read it, revoke it: `env -u LANYARD_GRANT_FILE lanyard grant list` shows the grants, "
              + "`env -u LANYARD_GRANT_FILE lanyard grant revoke GRANT` ends one.",
        ])
    }
    defer { close(file) }
    let secret = try SecretInput.line(from: file, of: path, atMost: largestBytes)
    guard !secret.isEmpty else { throw .usage("There is no grant in \(path).") }
    return secret
  }

  private static func hello(
    _ secret: borrowing SecretInput, on connection: inout AgentConnection
  ) throws(CommandFailure) {
    let patience = connection.patienceMilliseconds
    connection.patienceMilliseconds = min(patience ?? .max, patienceMilliseconds)
    defer { connection.patienceMilliseconds = patience }
    // `AgentConnection.request` wipes the writer's memory.
    let id = try secret.withBytes { (bytes) throws(CommandFailure) in
      try connection.send("agent.hello") { writer in
        writer.key("client")
        writer.beginObject()
        writer.key("name")
        writer.string("lanyard")
        writer.key("version")
        writer.string(Version.text)
        writer.endObject()
        writer.key("grant")
        writer.string(utf8: bytes)
      }
    }
    try connection.result(of: id) { (_) throws(CommandFailure) in }
  }
}
