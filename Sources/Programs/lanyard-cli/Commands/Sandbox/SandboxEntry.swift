import CConfinement
import CommandSupport
import Glibc

/// Inside a sandbox, before its command: hands the port of the proxy to the proxy outside, gives up what only the start needed,
/// and becomes the command (docs/sandbox.md, How it works).
enum SandboxEntry {
  /// The first word of this program's command line there.
  static let word = "--sandbox-entry"

  /// The words for a command; `channel` leads to the proxy, nil without one.
  static func words(channel: Int32?, port: UInt16, _ command: [String]) -> [String] {
    [word, channel.map { String($0) } ?? "-1", String(port)] + command
  }

  static func run(_ words: ArraySlice<String>) -> Never {
    var words = words
    guard let channel = words.popFirst().flatMap({ Int32($0) }), let port = words.popFirst().flatMap({ UInt16($0) }),
      let program = words.first
    else { fail("\(word) is for `lanyard sandbox` alone") }
    let error = lanyard_sandbox_enter(channel, port)
    if error == -EPIPE { fail("the proxy has ended") }
    guard error == 0 else { fail("it can't be entered: \(SystemError.message(-error))") }
    signal(SIGPIPE, SIG_DFL)
    let failure = CStrings.with(Array(words)) { arguments in
      execvp(program, arguments)
      return errno
    }
    exit(ChildProcess.tellFailure(of: program, failure))
  }

  private static func fail(_ reason: String) -> Never {
    Output.instruction("lanyard: The sandbox did not start: \(Text.shown(reason)). The command was not run.")
    exit(ExitStatus.other.rawValue)
  }
}
