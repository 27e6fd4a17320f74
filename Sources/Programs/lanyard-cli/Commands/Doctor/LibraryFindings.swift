import AgentModel
import CLibraries

/// Findings about libraries of the system that the agent opens when it first needs them.
enum LibraryFindings {
  static func look() -> [Finding] {
    let missing = kinds.filter { lanyard_open_library($0.library.name) == nil }
    guard !missing.isEmpty else { return [Finding(.ok, "libraries", "The libraries that the agent opens are there.")] }
    return missing.map { Finding($0.severity, "libraries", "\($0.library.missing) \($0.without)") }
  }

  private static let kinds: [(library: SystemLibrary, severity: Finding.Severity, without: String)] = [
    (.curl, .problem, "Without it no provider can be reached."),
    (.crypto, .problem, "Without it no sign-in can be verified."),
    (.tls, .problem, "Without it `lanyard proxy` does not start."),
    (.systemd, .notice, "Without it the agent reaches no keyring, and notices neither sleep nor the screen's lock."),
  ]
}
