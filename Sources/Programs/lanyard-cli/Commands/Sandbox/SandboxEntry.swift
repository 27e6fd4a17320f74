import CConfinement
import CommandSupport
import Glibc

/// Inside a sandbox, before its command: hands the port of the proxy to the proxy outside, gives up what only the start needed,
/// and becomes the command (docs/sandbox.md, How it works).
enum SandboxEntry {
  /// The first word of this program's command line there.
  static let word = "--sandbox-entry"

  /// The words for a command; `channel` leads to the proxy, nil without one.
  static func words(channel: Int32?, port: UInt16, json: Bool, _ command: [String]) -> [String] {
    [word, channel.map { String($0) } ?? "-1", String(port), json ? "json" : "text"] + command
  }

  static func run(_ words: ArraySlice<String>) -> Never {
    var words = words
    guard let channel = words.popFirst().flatMap({ Int32($0) }), let port = words.popFirst().flatMap({ UInt16($0) }),
      let json = words.popFirst().map({ $0 == "json" }), let program = words.first
    else { fail("\(word) is for `lanyard sandbox` alone", json: false) }
    let error = lanyard_sandbox_enter(channel, port)
    if error == -EPIPE { fail("the proxy has ended", json: json) }
    guard error == 0 else { fail("it can't be entered: \(SystemError.message(-error))", json: json) }
    signal(SIGPIPE, SIG_DFL)
    let failure = CStrings.with(Array(words)) { arguments in
      execvp(program, arguments)
      return errno
    }
    exit(ChildProcess.tellFailure(of: program, failure, json: json))
  }

  private static func fail(_ reason: String, json: Bool) -> Never {
    let message = "The sandbox did not start: \(reason). The command was not run."
    Output.tell(CommandFailure(.other, name: "sandbox", message), json: json)
    exit(ExitStatus.other.rawValue)
  }
}
