import CommandSupport

/// systemd's manager of the person's session.
struct SessionManager {
  private let systemctl: String

  /// - Throws: the failure that says that there is no systemd.
  init() throws(CommandFailure) {
    guard let path = AgentPaths.program("systemctl") else {
      throw CommandFailure(
        .other, name: "noSystemd", "There is no systemd here. Nothing was changed.",
        hints: ["A service is not needed: a command that finds no agent starts one."])
    }
    systemctl = path
  }

  /// True if the manager knows a unit of this name.
  func knows(_ unit: String) throws(CommandFailure) -> Bool {
    try ChildOutput.of(systemctl, ["--user", "cat", "--", unit]).hasSucceeded
  }

  func perform(_ words: [String]) throws(CommandFailure) {
    let done = try ChildOutput.of(systemctl, ["--user"] + words)
    guard !done.hasSucceeded else { return }
    throw CommandFailure(
      .other, name: "systemd", "`systemctl --user \(words.joined(separator: " "))` failed: \(done.complaint)",
      hints: [
        "systemd needs a session of yours: log in by the screen, the console or ssh, not by su or sudo.",
        "A service is not needed: a command that finds no agent starts one.",
      ])
  }
}
