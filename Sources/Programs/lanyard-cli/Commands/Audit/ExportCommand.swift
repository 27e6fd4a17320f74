import ArgumentParser
import CommandSupport

/// `lanyard export`
struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Send the audit log to journald, syslog or an OTLP receiver, and keep sending new entries.",
    discussion: """
      Each entry is sent once and in order. A cursor beside the vault records how far the export came, so that it goes \
      on where it ended; after a kill the last batch is sent again, with the same sequences. While a collector is \
      down, the entries wait in the agent's log: security events for a year, and the newest 95,000 decisions. \
      Decisions that the log dropped before they were sent are counted, and an entry audit.dropped says how many.

      Names of programs and persons are sent as ids that mean nothing elsewhere, unless audit.names is true in the agent's \
      configuration file.

      DESTINATION is journald, syslog or otlp with the receiver's URL, or the name of one in the configuration file \
      (audit.export). Without it, the command serves all destinations of the configuration file.

      EXAMPLES:
        lanyard export journald
        lanyard export syslog --once
        lanyard export otlp https://logs.example --headers-file logs-headers
        lanyard export --status
        systemctl --user enable --now lanyard-export
      """)

  @Argument(
    help: ArgumentHelp("journald, syslog, otlp, or a name of the configuration file.", valueName: "destination"))
  var destination: String?

  @Argument(
    help: ArgumentHelp(
      "For otlp: the receiver, https, or http on this machine; /v1/logs unless it has a path.", valueName: "url"))
  var url: String?

  @Option(help: ArgumentHelp("A name for its cursor, for a second collector of the same kind.", valueName: "name"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      "For journald and syslog: the socket; else /run/systemd/journal/socket or /dev/log.", valueName: "path"),
    completion: .file())
  var socket: String?

  @Option(
    name: .customLong("ca-file"),
    help: ArgumentHelp("For otlp: a PEM file with the only trusted certificate authorities.", valueName: "path"),
    completion: .file())
  var caFile: String?

  @Option(
    name: .customLong("headers-file"),
    help: ArgumentHelp(
      "For otlp: a file that only you can read, with a header field in each line, such as a credential.",
      valueName: "path"),
    completion: .file())
  var headersFile: String?

  @Flag(help: "Send the entries that wait, and exit; with code 5 if the collector takes none.")
  var once = false

  @Flag(help: "Show how far each destination has come.")
  var status = false

  @OptionGroup var common: CommonOptions

  func run() {
    var words = ["lanyard-export"]
    func add(_ option: String, _ value: String?) { if let value { words += [option, value] } }
    words += [destination, url].compactMap(\.self)
    add("--name", name)
    add("--socket", socket)
    add("--ca-file", caFile)
    add("--headers-file", headersFile)
    add("--account", common.account)
    if once { words.append("--once") }
    if status { words.append("--status") }
    if common.json { words.append("--json") }
    if common.noStart { words.append("--no-start") }
    if common.quiet { words.append("--quiet") }
    ExecReplacement.become("lanyard-export", words)
  }
}
