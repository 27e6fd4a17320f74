import ArgumentParser
import CommandSupport

/// `lanyard proxy`
struct ProxyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Run a forward proxy that adds tokens to requests, for programs that must not hold a token.",
    discussion: """
      Programs in a sandbox send their requests to the proxy. It asks the agent about each: the grant, the provider's \
      allowed origins and the policy decide, and the audit log records it. The proxy removes credentials that the \
      program sent, adds the account's token, and returns the answer. It refuses every other request and says why.

      The proxy ends TLS with a certificate authority that it makes for this run: the key stays in memory, the \
      certificate is valid for the allowed origins only, and it is installed nowhere. Point programs at its file: \
      SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, GIT_SSL_CAINFO, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, PIP_CERT.

      With --pass it lets programs through to further servers: without a token, with credentials of their own, and without \
      reading what they send.

      Variables in which libraries look for a key, such as OPENAI_API_KEY, are printed with placeholders: no secrets, which the \
      proxy takes away wherever a key stands.

      `lanyard exec --proxy -- COMMAND` does all of this for one command.

      EXAMPLES:
        lanyard proxy --grant ci
        lanyard proxy --grant ci --socket ~/.cache/sandbox/proxy.sock
        lanyard proxy --account work --allow https://api.example --json
        lanyard proxy --grant ci --pass https://pypi.example
      """)

  @OptionGroup var proxy: ProxyOptions

  @Option(
    help: ArgumentHelp(
      "Listen at this unix socket instead of a port; only you may have access to its directory.", valueName: "path"),
    completion: .file())
  var socket: String?

  @Option(help: "The port of 127.0.0.1. Default: any free port.")
  var port: UInt16?

  @Option(help: ArgumentHelp("Forward to this allowed origin and to no other; may be repeated.", valueName: "origin"))
  var allow: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if socket != nil, port != nil { throw ValidationError("The proxy listens at --socket or at --port, not at both.") }
  }

  func run() throws {
    var words = ["lanyard-proxy"]
    words += proxy.words + common.proxyWords
    if let account = common.account { words += ["--account", account] }
    if let socket { words += ["--socket", socket] }
    if let port { words += ["--port", String(port)] }
    for origin in allow { words += ["--allow", origin] }
    if common.json { words.append("--json") }
    ExecReplacement.become("lanyard-proxy", words)
  }
}

/// The options of a proxy that `lanyard exec --proxy` has as well.
struct ProxyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Decide as for the program with this grant: the name of its client, or its id.", valueName: "name"))
  var grant: String?

  @Option(
    name: .customLong("pass"),
    help: ArgumentHelp(
      "An origin that programs may reach without a token; may be repeated. * stands for every public one that no account serves. With --grant only those that the grant names.",
      valueName: "origin"))
  var passes: [String] = []

  @Flag(
    help: "Leave variables such as OPENAI_API_KEY as they are. Otherwise libraries find placeholders there.")
  var noPlaceholders = false

  var words: [String] {
    (grant.map { ["--grant", $0] } ?? []) + passes.flatMap { ["--pass", $0] }
      + (noPlaceholders ? ["--no-placeholders"] : [])
  }
}

extension CommonOptions {
  /// For `lanyard-proxy`.
  var proxyWords: [String] { (noStart ? ["--no-start"] : []) + (quiet ? ["--quiet"] : []) }
}
