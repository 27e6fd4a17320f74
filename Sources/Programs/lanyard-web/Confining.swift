internal import CommandSupport
internal import SystemAdapters

/// What this process may do once it listens (docs/page-security.md): it starts no program, writes no file, reads but
/// a few, and connects to nothing but the agent's socket.
enum Confining {
  /// Call it before the first thread.
  static func apply() {
    // Who holds the other end of a connection; the zone of this machine.
    var readable = ["/proc", "/etc/localtime", "/usr/share/zoneinfo"]
    // An agent with --strict-grants takes this program for the person by it.
    if let state = AgentPaths.stateDirectory { readable.append("\(state)/owner-grant") }
    let result = ProcessConfinement.apply(FileAccess(readable: readable, devices: ["/dev/null"], usesNetwork: false))
    for sentence in result.missing { Output.warning("The page is less confined than it could be: \(sentence)") }
  }
}
