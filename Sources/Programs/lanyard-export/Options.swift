internal import AgentModel
internal import AuditExport
internal import CommandSupport

/// The options of `lanyard-export`. `lanyard export` has the same, and their help.
struct Options {
  /// `journald`, `syslog`, `otlp`, or the name of a destination in the configuration; nil: all of those.
  var destination: String?
  var url: String?
  var name: String?
  var socket: String?
  var caFile: String?
  var headersFile: String?
  var account: String?
  /// Export what is there, and end.
  var once = false
  var showsStatus = false
  var json = false
  var mayStart = true

  init(_ words: [String]) throws(CommandFailure) {
    var rest = OptionWords(words, help: "lanyard help export")
    var plain: [String] = []
    while let word = rest.next() {
      switch word {
      case "--once": once = true
      case "--status": showsStatus = true
      case "--json": json = true
      case "--no-start": mayStart = false
      case "--quiet", "-q": Output.beQuiet()
      case "--name": name = try rest.value(of: word)
      case "--socket": socket = AgentPaths.absolute(try rest.value(of: word))
      case "--ca-file": caFile = AgentPaths.absolute(try rest.value(of: word))
      case "--headers-file": headersFile = AgentPaths.absolute(try rest.value(of: word))
      case "--account", "-u": account = try rest.value(of: word)
      default:
        guard !word.hasPrefix("-"), plain.count < 2 else { throw rest.unknown(word) }
        plain.append(word)
      }
    }
    (destination, url) = (plain.first, plain.count > 1 ? plain[1] : nil)
    if let name, !AuditDestination.isName(name) {
      throw .usage("--name takes 1 to 32 lower-case letters, digits, `_` and `-`.")
    }
  }

  private var hasDetails: Bool {
    url != nil || name != nil || socket != nil || caFile != nil || headersFile != nil || account != nil
  }

  /// The destination that the command line describes by itself; nil if the configuration does.
  func described() throws(CommandFailure) -> AuditDestination? {
    guard let destination else {
      guard !hasDetails else {
        throw .usage("Name the destination that this is for: `journald`, `syslog` or `otlp`.")
      }
      return nil
    }
    guard let kind = AuditDestination.Kind(rawValue: destination), hasDetails || kind != .otlp else {
      guard !hasDetails else { throw .usage("\(Text.shown(destination)) is not `journald`, `syslog` or `otlp`.") }
      return nil
    }
    var found = AuditDestination(kind, name: name)
    switch kind {
    case .journald, .syslog:
      guard url == nil, caFile == nil, headersFile == nil, account == nil else {
        throw .usage("\(destination) takes --name and --socket: a URL and what belongs to it are for `otlp`.")
      }
      found.socket = socket
    case .otlp:
      guard socket == nil else { throw .usage("`otlp` has a URL, and no --socket.") }
      guard let url else { throw .usage("`otlp` needs the URL of the receiver: `lanyard export otlp URL`.") }
      guard AuditDestination.endpoint(url) != nil else {
        throw .usage("\(Text.shown(url)) is not an https URL, or an http URL of this machine.")
      }
      found.url = url
      found.caFile = caFile
      found.headersFile = headersFile
      found.account = account
    }
    return found
  }

  /// The destinations to serve, with the configuration of the agent.
  func destinations(configured: [AuditDestination]) throws(CommandFailure) -> [AuditDestination] {
    if let own = try described() { return [own] }
    guard let destination else {
      guard !configured.isEmpty else {
        throw .usage(
          "No destination is configured. Nothing was exported.",
          hints: [
            "Name one: `lanyard export journald`, `lanyard export syslog`, `lanyard export otlp URL`.",
            "Or list them in the agent's configuration file, as `audit.export`.",
          ])
      }
      return configured
    }
    if let found = configured.first(where: { $0.name == destination }) { return [found] }
    // Usual sockets need no configuration.
    if let kind = AuditDestination.Kind(rawValue: destination), kind != .otlp { return [AuditDestination(kind)] }
    throw .usage(
      destination == "otlp"
        ? "`otlp` needs the URL of the receiver: `lanyard export otlp URL`."
        : "The configuration has no destination \(Text.shown(destination)). Nothing was exported.")
  }
}
