import ArgumentParser
import CommandSupport

/// `lanyard mcp`
struct MCPCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mcp",
    abstract: "Connect stdin and stdout to a remote MCP server, signed in as you.",
    discussion: """
      For AI agents and other MCP clients: they start this command as a local server, and never see a token. Each \
      message goes to the server at URL with a token of your account, and each answer comes back as a line. Clients of \
      the versions 2026-07-28 and 2025-11-25 or earlier are served.

      When the server asks for a sign-in and no account fits, the sign-in begins by itself: its address is on stderr, \
      and the client gets an error that says what to do. Once you are signed in, the next call works. All clients of a \
      server share one account.

      EXAMPLES:
        lanyard mcp https://mcp.example.com/mcp
        lanyard mcp https://mcp.example.com/mcp --account work
        claude mcp add example -- lanyard mcp https://mcp.example.com/mcp
      """)

  @Argument(help: ArgumentHelp("The server's address: https, or http on this machine.", valueName: "url"))
  var url: String

  @Option(
    help: ArgumentHelp("The name for the server in `lanyard provider list`, if it is not there yet.", valueName: "name")
  )
  var name: String?

  @Option(
    name: .customLong("client-id"),
    help: ArgumentHelp("The client that is registered at the server's authorization server.", valueName: "id"))
  var clientID: String?

  @Option(
    name: .customLong("ca-file"),
    help: ArgumentHelp("A PEM file with the certificate authorities that count.", valueName: "path"),
    completion: .file())
  var authorityFile: String?

  @Option(
    help: ArgumentHelp("The proxy, such as http://proxy.example:3128, or none to connect directly.", valueName: "url"))
  var proxy: String?

  @Flag(name: .customLong("no-browser"), help: "Do not open a browser: only show the address of the sign-in.")
  var noBrowser = false

  @OptionGroup var common: CommonOptions

  func run() {
    var words = ["lanyard-mcp", url]
    func add(_ option: String, _ value: String?) { if let value { words.append("\(option)=\(value)") } }
    add("--account", common.account)
    add("--name", name)
    add("--client-id", clientID)
    add("--ca-file", authorityFile)
    add("--proxy", proxy)
    if noBrowser { words.append("--no-browser") }
    if common.noStart { words.append("--no-start") }
    if common.quiet { words.append("--quiet") }
    ExecReplacement.become("lanyard-mcp", words)
  }
}
