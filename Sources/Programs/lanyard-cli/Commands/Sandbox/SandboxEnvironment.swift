/// Which variables a command in a sandbox gets.
enum SandboxEnvironment {
  /// What programs need to find others, to speak and to draw: nothing that names a socket, a session or a secret.
  private static let kept: Set<String> = [
    "COLORTERM", "COLUMNS", "EDITOR", "LANG", "LANGUAGE", "LESS", "LINES", "LOGNAME", "NO_COLOR", "PAGER", "PATH",
    "SHELL", "TERM", "TZ", "USER", "VISUAL",
  ]

  /// What the sandbox sets itself.
  static let own = ["HOME", "LANYARD_NO_START", "PWD"]

  /// - Parameter named: what options and profiles name.
  static func isKept(_ name: String, named: Set<String>) -> Bool {
    kept.contains(name) || name.hasPrefix("LC_") || named.contains(name)
  }
}
