internal import CPlatform
internal import CommandSupport
internal import Glibc
internal import StreamingHTTP

/// A server of MCP on stdio that is a remote one (docs/mcp.md). Wires the bridge: options, client, output, input.
@main
struct LanyardMCP {
  static func main() {
    let options: Options
    do throws(Options.Ending) {
      options = try Options(Array(CommandLine.arguments.dropFirst()))
    } catch {
      switch error {
      case .help:
        Output.write(Options.help, to: STDOUT_FILENO)
        Process.exit(.success)
      case .version:
        Output.answer("lanyard-mcp \(Version.text)")
        Process.exit(.success)
      case .usage(let message):
        Output.tell(.usage(message, hints: ["`lanyard help mcp` shows how to use it."]), json: false)
        Process.exit(.usage)
      }
    }
    harden()
    // Before the first thread: threads inherit the signal mask.
    let signals = lanyard_signalfd()
    let bridge = Bridge(options)
    bridge.shutdown.guardEnd(signals: signals)
    InputLoop(bridge: bridge, signals: signals).run()
    bridge.shutdown.finish()
    Process.exit(.success)
  }

  private static func harden() {
    _ = lanyard_deny_dumps()
    _ = lanyard_ignore_sigpipe()
    HTTPClient.limitHeaps(to: 2)
  }
}
