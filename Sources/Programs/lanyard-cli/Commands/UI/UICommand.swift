import ArgumentParser
import CommandSupport

/// `lanyard ui`
struct UICommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ui",
    abstract: "Show your accounts, what programs do with them and what waits for you as a page in your browser.",
    discussion: """
      The page shows accounts, activity, approvals, programs, what waits, policies and the agent's health, and follows what \
      happens. Sign in and out, lock, approve and revoke from it: it asks the agent as you do in a terminal. No token and no \
      secret is ever in it.

      It is served at 127.0.0.1 for you alone. The address works once, within a minute, in one browser; run the command again \
      for another browser. The page ends with Ctrl-C, or when nobody has used it for 30 minutes.

      EXAMPLES:
        lanyard ui
        lanyard ui --no-browser --port 8123    # from afar: ssh -L 8123:127.0.0.1:8123
      """)

  @Flag(name: .customLong("no-browser"), help: "Do not open a browser: only show the address.")
  var noBrowser = false

  @Option(help: "The port of 127.0.0.1. Default: any free port.")
  var port: UInt16?

  @OptionGroup var common: CommonOptions

  func run() {
    var words = ["lanyard-web"]
    if noBrowser { words.append("--no-browser") }
    if let port { words += ["--port", String(port)] }
    if common.json { words.append("--json") }
    if common.noStart { words.append("--no-start") }
    if common.quiet { words.append("--quiet") }
    ExecReplacement.become("lanyard-web", words)
  }
}
