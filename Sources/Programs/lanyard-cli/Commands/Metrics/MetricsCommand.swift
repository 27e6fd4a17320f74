import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC
import MetricsExposition
import Threads
import WatchedFiles

/// `lanyard metrics`
struct MetricsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metrics",
    abstract: "Print the agent's figures for a metrics server.",
    discussion: """
      Prints accounts by state, refreshes by outcome, latencies, decisions, what waits, memory. No account, person, \
      server or token is named; an issuer appears as a digest.

      With --file, replaces a file atomically, for a collector of text files. With --listen, serves `/metrics` at a unix \
      socket, as OpenMetrics to a scraper that asks for it. Without an agent the \
      only figures are `lanyard_up 0` and the time, so that nothing takes old figures for new ones. \
      The command never starts an agent.

      EXAMPLES:
        lanyard metrics
        lanyard metrics --file /var/lib/figures/lanyard.prom --every 30
        lanyard metrics --listen ~/metrics.sock
        curl --unix-socket ~/metrics.sock http://localhost/metrics
      """)

  @Option(
    help: ArgumentHelp(
      "Write the figures to this file; collectors of text files need a name that ends in .prom.",
      valueName: "path"),
    completion: .file(extensions: ["prom"]))
  var file: String?

  @Option(help: ArgumentHelp("Repeat after so many seconds, until Ctrl-C.", valueName: "seconds"))
  var every: Int?

  @Option(help: ArgumentHelp("Serve the figures at this unix socket, until Ctrl-C.", valueName: "socket"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "`text`, Prometheus's format 0.0.4 that collectors and promtool read, or `openmetrics`. Default: text.",
      valueName: "format"))
  var format: String?

  @Option(
    help: ArgumentHelp(
      "Put a label on every figure, so that those of several agents differ; may be repeated.", valueName: "name=value"))
  var label: [String] = []

  @Option(help: ArgumentHelp("The mode of the file or socket. Default: 0644; of a socket, 0600.", valueName: "mode"))
  var mode: String?

  @Option(help: ArgumentHelp("The group of the socket, which may connect then (0660).", valueName: "name"))
  var group: String?

  @OptionGroup var common: CommonOptions

  private static let mostLabels = 8

  func validate() throws {
    if file != nil, listen != nil { throw ValidationError("Give --file or --listen, not both.") }
    if let every, !(1...86_400).contains(every) { throw ValidationError("--every takes 1 to 86400 seconds.") }
    if every != nil, listen != nil {
      throw ValidationError("--listen reads the figures at each request, without --every.")
    }
    if let file, !file.hasSuffix(".prom") || file.hasSuffix("/.prom") || file == ".prom" {
      throw ValidationError("The name of the --file must end in .prom: collectors ignore every other one.")
    }
    if let format, ExpositionFormat(rawValue: format) == nil {
      throw ValidationError("--format takes `openmetrics` or `text`.")
    }
    if format != nil, listen != nil { throw ValidationError("With --listen, each request says which format it wants.") }
    if label.count > Self.mostLabels { throw ValidationError("At most \(Self.mostLabels) labels.") }
    for label in label where FigurePage.Label(argument: label) == nil {
      throw ValidationError(
        "`\(Text.shown(label))` is not a label: write NAME=VALUE, where NAME has letters, digits and _, and is not a label of a figure."
      )
    }
    let names = label.compactMap { FigurePage.Label(argument: $0)?.name }
    if Set(names).count < names.count { throw ValidationError("A label is given twice.") }
    if let mode, FileMode(mode) == nil { throw ValidationError("--mode takes an octal mode, such as 0640.") }
    if mode != nil, file == nil, listen == nil { throw ValidationError("--mode belongs to --file or --listen.") }
    if group != nil, listen == nil { throw ValidationError("--group belongs to --listen.") }
    if common.json, file != nil || listen != nil || every != nil || format != nil || !label.isEmpty {
      throw ValidationError("--json prints the figures once as the agent sends them, without other options.")
    }
  }

  func run() throws {
    if common.json { return try showJSON() }
    let labels = label.compactMap { FigurePage.Label(argument: $0) }
    let mode = mode.flatMap { FileMode($0) }
    if let listen {
      let socket = FigureSocket(path: listen, mode: mode, group: group)
      return try FigureServer(socket, labels).run()
    }
    let target = try file.map { path throws(CommandFailure) in
      FigureFile(path: try BackupPath.absolute(path), mode: mode ?? FileMode.ofFiles)
    }
    let format = format.flatMap { ExpositionFormat(rawValue: $0) } ?? .text
    guard let every else { return try once(target, format, labels) }
    try repeatedly(every, target, format, labels)
  }

  private func showJSON() throws(CommandFailure) {
    var agent = try Agent.connect(mayStart: false)
    try agent.call("metrics.read") { Output.answer(json: $0.raw) }
  }

  private func once(
    _ target: FigureFile?, _ format: ExpositionFormat, _ labels: [FigurePage.Label]
  ) throws(CommandFailure) {
    let (page, failure) = FigureReader.page(interruption: nil)
    let text = page.labeled(labels).text(format)
    if let target { try target.replace(by: text) } else { Output.answer(laidOut: text) }
    if let failure { throw failure }
  }

  /// Ends with a signal, as a service does: without a failure. The file goes then, since it is not kept up any more.
  private func repeatedly(
    _ seconds: Int, _ target: FigureFile?, _ format: ExpositionFormat, _ labels: [FigurePage.Label]
  ) throws(CommandFailure) {
    let interruption = try Interruption()
    ProgramWatch.start()
    var told: CommandFailure?
    var next = MonotonicTime.now.milliseconds
    while true {
      let (page, failure) = FigureReader.page(interruption: interruption)
      if interruption.isPending { break }
      if let failure, failure.name != told?.name { Output.warning(failure.message) }
      told = failure
      let text = page.labeled(labels).text(format)
      if let target {
        do throws(CommandFailure) {
          try target.replace(by: text)
        } catch {
          Output.warning(error.message)
        }
      } else {
        Output.answer(laidOut: text)
        guard !Output.takesNothing else { return }
      }
      next = max(next + seconds * 1000, MonotonicTime.now.milliseconds)
      if interruption.isPending(within: Int32(next - MonotonicTime.now.milliseconds)) { break }
    }
    target?.remove()
  }
}

extension Interruption {
  /// Waits for a signal; false if none came in time.
  func isPending(within milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, max(0, milliseconds)) > 0
  }
}

/// A mode of a file, of the permission bits alone.
struct FileMode {
  var bits: mode_t

  static let ofFiles = FileMode(bits: 0o644)

  init(bits: mode_t) { self.bits = bits }

  /// From octal digits. The owner needs to read and write.
  init?(_ text: String) {
    guard (3...4).contains(text.utf8.count), let bits = mode_t(text, radix: 8), bits & ~0o777 == 0,
      bits & 0o600 == 0o600
    else { return nil }
    self.bits = bits
  }
}
