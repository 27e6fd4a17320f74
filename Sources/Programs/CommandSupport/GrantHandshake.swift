internal import Glibc
internal import JSONRPC

/// How a command comes in where the agent serves nobody without a grant: by a grant that the person gave it, or by the
/// owner's, which an agent with `--strict-grants` puts beside its store.
enum GrantHandshake {
  /// A secret is 43 characters; what is longer is none.
  private static let largestBytes = 256

  /// Says the grant, if there is one. False if the agent does not take the owner's: it is of another agent, and the
  /// connection is of no use any more. A grant that the person named is taken, or that is the answer.
  static func make(on connection: inout AgentConnection) throws(CommandFailure) -> Bool {
    if let path = Environment.value("LANYARD_GRANT_FILE") {
      guard let secret = try grant(in: path, flags: 0) else {
        throw .usage(
          "The grant in \(path), which LANYARD_GRANT_FILE names, can't be read: \(SystemError.words(errno)).")
      }
      try hello(secret, on: &connection)
      return true
    }
    guard let directory = AgentPaths.stateDirectory,
      let secret = try grant(in: "\(directory)/owner-grant", flags: O_NOFOLLOW)
    else {
      return true
    }
    do throws(CommandFailure) {
      try hello(secret, on: &connection)
      return true
    } catch {
      guard error.name == "notPermitted" || error.name == "agentLocked" else { throw error }
      return false
    }
  }

  /// Nil if there is no such file.
  private static func grant(in path: String, flags: Int32) throws(CommandFailure) -> SecretInput? {
    let file = open(path, O_RDONLY | O_CLOEXEC | flags)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var information = stat()
    // A pipe or a descriptor of the caller's has no mode to speak of; a file has.
    let isFile = fstat(file, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    guard !isFile || information.st_uid == geteuid() && information.st_mode & 0o077 == 0 else {
      throw CommandFailure(
        .other, name: "unsafeGrant", "The grant in \(path) is not a file of yours that you alone can read.",
        hints: ["Its mode must be 0600. If others could read it, revoke it: `lanyard grant list`."])
    }
    let secret = try SecretInput.line(from: file, of: path, atMost: largestBytes)
    guard !secret.isEmpty else { throw .usage("There is no grant in \(path).") }
    return secret
  }

  private static func hello(
    _ secret: borrowing SecretInput, on connection: inout AgentConnection
  ) throws(CommandFailure) {
    // The writer's memory is wiped with it (AgentConnection.request).
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
    try connection.result(of: "agent.hello", id: id) { (_) throws(CommandFailure) in }
  }
}
