import Foundation
import UsageWords

/// How `lanyard-demo` is used.
enum Usage {
  /// As for every command of `lanyard`.
  static let exitStatus: Int32 = 2

  /// Tells a mistake as `lanyard` does, and returns the exit status.
  static func tell(_ message: String, help: String = "lanyard demo --help", among arguments: [String]) -> Int32 {
    let (message, hint) = (Mistake.escaped(message), Mistake.hint(help))
    if arguments.contains("--json") {
      let error: [String: Any] = ["name": "usage", "message": message, "exit": exitStatus, "hints": [hint]]
      let json = try? JSONSerialization.data(withJSONObject: ["error": error], options: [.sortedKeys])
      Terminal.complain(String(decoding: json ?? Data(), as: UTF8.self))
    } else {
      Terminal.complain("lanyard: \(message)\n  \(hint)")
    }
    return exitStatus
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
