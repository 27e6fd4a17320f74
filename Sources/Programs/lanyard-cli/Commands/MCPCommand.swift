import ArgumentParser
import CommandSupport

/// `lanyard mcp`
struct MCPCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mcp",
    abstract: "Connect stdin and stdout to a remote MCP server, signed in as you, or to the agent's own.",
    discussion: """
      For AI agents and other MCP clients: they start this command as a local server, and never see a token. Each \
      message goes to the server at URL with a token of your account, and each answer comes back as a line. Clients of \
      the versions 2026-07-28 and 2025-11-25 or earlier are served.

      When the server asks for a sign-in and no account fits, the sign-in begins by itself: its address is on stderr, \
      and the client gets an error that says what to do. Once you are signed in, the next call works. All clients of a \
      server share one account.

      With --self the server is the agent's own: tools by which an AI agent sends requests under its grant, asks what it \
      may do, and asks you for more. --grant names the file with the grant's secret, as `lanyard grant create … --to FILE` \
      writes it; without it LANYARD_GRANT_FILE does.

      EXAMPLES:
        lanyard mcp https://mcp.example.com/mcp
        lanyard mcp https://mcp.example.com/mcp --account work
        claude mcp add example -- lanyard mcp https://mcp.example.com/mcp
        lanyard mcp --self --grant ~/.config/claude.grant
      """)

  @Argument(help: ArgumentHelp("The server's address: https, or http on this machine.", valueName: "url"))
  var url: String?

  @Flag(name: .customLong("self"), help: "Serve the agent's own tools, under a grant.")
  var isSelf = false

  @Option(
    help: ArgumentHelp("With --self: the file with the grant's secret.", valueName: "file"), completion: .file())
  var grant: String?

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

  func validate() throws {
    guard isSelf != (url != nil) else {
      throw ValidationError(isSelf ? "Give an address or --self, not both." : "Give the server's address, or --self.")
    }
    if !isSelf, grant != nil { throw ValidationError("--grant goes with --self.") }
    if isSelf, name != nil || clientID != nil || authorityFile != nil || proxy != nil || noBrowser {
      throw ValidationError("With --self there is no remote server: only --account and --grant go with it.")
    }
  }

  func run() {
    var words = ["lanyard-mcp"] + (url.map { [$0] } ?? ["--self"])
    func add(_ option: String, _ value: String?) { if let value { words.append("\(option)=\(value)") } }
    add("--account", common.account)
    add("--grant", grant)
    add("--name", name)
    add("--client-id", clientID)
    add("--ca-file", authorityFile)
    add("--proxy", proxy)
    if noBrowser { words.append("--no-browser") }
    if common.noStart { words.append("--no-start") }
    if common.quiet { words.append("--quiet") }
    if common.json { words.append("--json") }
    ExecReplacement.become("lanyard-mcp", words)
  }
}
