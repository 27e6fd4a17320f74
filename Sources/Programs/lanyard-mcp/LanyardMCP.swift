internal import CPlatform
internal import CStart
internal import CommandSupport
internal import Glibc
internal import StreamingHTTP
internal import UsageWords
internal import WatchedFiles

/// A server of MCP on stdio: one that is a remote one, or with `--self` the agent's own (docs/mcp.md). Wires the options, the
/// server and the input.
@main
struct LanyardMCP {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    Output.begin(wasClosed: lanyard_closed_at_start() & 0b010 != 0)
    do throws(Options.Ending) {
      if AgentServerOptions.areIn(words) {
        let options = try AgentServerOptions(words)
        serve { AgentServer(options) }
      } else {
        let options = try Options(words)
        serve { Bridge(options) }
      }
    } catch {
      end(error, json: words.contains("--json"))
    }
  }

  private static func serve(_ make: () -> any MessageServer) -> Never {
    harden()
    // Before the first thread: threads inherit the signal mask.
    let signals = lanyard_signalfd()
    let server = make()
    server.shutdown.guardEnd(signals: signals)
    ProgramWatch.start()
    if Terminal.canAsk {
      Output.note("The program of an AI agent starts this, and writes messages of MCP to it. Ctrl-C ends it.")
    }
    InputLoop(server: server, signals: signals).run()
    server.shutdown.finish()
    Process.exit(.success)
  }

  private static func end(_ ending: Options.Ending, json: Bool) -> Never {
    switch ending {
    case .help:
      Output.answer(laidOut: Options.help)
      Process.exit(.success)
    case .version:
      Output.answer("lanyard-mcp \(Version.text)")
      Process.exit(.success)
    case .usage(let message, let hints):
      Output.tell(.usage(message, hints: hints + [Mistake.hint("lanyard help mcp")]), json: json)
      Process.exit(.usage)
    }
  }

  private static func harden() {
    _ = lanyard_deny_dumps()
    _ = lanyard_ignore_sigpipe()
    HTTPClient.limitHeaps(to: 2)
  }
}
