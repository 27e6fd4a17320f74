internal import AgentModel
internal import CommandSupport
internal import UsageWords

/// The arguments of `lanyard-mcp`.
struct Options {
  /// The endpoint of the remote server.
  var url: HTTPURL
  /// As the person wrote it.
  var urlText: String
  var account: String?
  var name: String?
  var clientID: String?
  var authorityFile: String?
  var proxy: String?
  /// Start an agent if none runs.
  var mayStart = true
  /// `--no-browser`: the person opens the page.
  var opensBrowser = true
  var isQuiet = false

  enum Ending: Error {
    case help, version
    case usage(String, hints: [String] = [])
  }

  static let help = """
    USAGE: lanyard-mcp URL [--account A] [--name NAME] [--client-id ID] [--ca-file PATH] [--proxy URL] [--no-browser]
           lanyard-mcp --self [--account A] [--grant FILE]

    `lanyard mcp` starts it: see `lanyard help mcp`.

    """

  init(_ arguments: [String]) throws(Ending) {
    var rest = arguments[...]
    var url: String?
    var values: [String: String] = [:]
    var flags: Set<String> = []
    while let argument = rest.popFirst() {
      let parts = argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1).map(String.init) : [argument]
      switch parts.first ?? "" {
      case "--help", "-h": throw .help
      case "--version": throw .version
      // How a mistake in these is told.
      case "--json": break
      case "--no-start", "--no-browser", "--quiet", "-q": flags.insert(argument)
      case "--account", "-u", "--name", "--client-id", "--ca-file", "--proxy":
        let name = parts[0] == "-u" ? "--account" : parts[0]
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
          throw .usage(Mistake.missingValue(of: name))
        }
        values[name] = value
      default:
        guard !argument.hasPrefix("-"), url == nil else { throw .usage(Mistake.unknown(argument)) }
        url = argument
      }
    }
    guard let url else { throw .usage("The URL of the server is missing.") }
    guard let parsed = HTTPURL(url), parsed.scheme == .https || parsed.isLoopback else {
      throw .usage("\(url) is not an https URL, or an http URL of this machine, without a fragment.")
    }
    self.url = parsed
    urlText = url
    account = values["--account"]
    name = values["--name"]
    clientID = values["--client-id"]
    authorityFile = values["--ca-file"]
    proxy = values["--proxy"]
    if let name, ProviderName(name) == nil {
      throw .usage("\(name) is not a provider name: 1 to 64 lower-case letters, digits, `.`, `_` and `-`.")
    }
    if let proxy, !ProxyAddress.isValid(proxy) { throw .usage("\(proxy) is not the address of a proxy.") }
    if let authorityFile, !authorityFile.hasPrefix("/") { throw .usage("--ca-file needs an absolute path.") }
    mayStart = !flags.contains("--no-start")
    opensBrowser = !flags.contains("--no-browser")
    isQuiet = flags.contains("--quiet") || flags.contains("-q")
  }
}
