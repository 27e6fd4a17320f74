import Foundation

/// How `lanyard-demo` is used.
enum Usage {
  /// As for every command of `lanyard`.
  static let exitStatus: Int32 = 2

  /// Tells of a word that is not known, as `lanyard` does, and returns the exit status.
  static func mistake(_ kind: String, _ word: String, among arguments: [String]) -> Int32 {
    tell("Unknown \(kind) `\(word)`.", hint: "`lanyard demo --help` shows how to use it.", among: arguments)
  }

  static func tell(_ message: String, hint: String, among arguments: [String]) -> Int32 {
    let message = shown(message)
    if arguments.contains("--json") {
      let error: [String: Any] = ["name": "usage", "message": message, "exit": exitStatus, "hints": [hint]]
      let json = try? JSONSerialization.data(withJSONObject: ["error": error], options: [.sortedKeys])
      Terminal.complain(String(decoding: json ?? Data(), as: UTF8.self))
    } else {
      Terminal.complain("lanyard: \(message)\n  \(hint)")
    }
    return exitStatus
  }

  /// A text with a word of the command line, which may hold what steers a terminal.
  private static func shown(_ text: String) -> String {
    text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? String($0) : $0.escaped(asASCII: true) }.joined()
  }

  static let text = """
    lanyard-demo: try Lanyard without an account

    Usage: lanyard-demo [run [--by-hand] [--keep]]
           lanyard-demo provider [OPTIONS]

    Commands:
      run          sign in, refresh, crash, sign out, with explanations (default)
        --by-hand  sign in yourself, in your browser
        --keep     keep the temporary directory
      provider     run the practice provider: an OpenID provider on this machine
                   (see lanyard-demo provider --help)

    The demo uses a temporary directory and touches no account, agent or file of
    yours. Exit code 0 if every step worked as described, else 1.
    """
}
