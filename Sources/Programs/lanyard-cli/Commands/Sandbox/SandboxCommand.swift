import ArgumentParser
import CConfinement
import CommandSupport
import Glibc

/// `lanyard sandbox`
struct SandboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sandbox",
    abstract: "Run a command that sees one directory and reaches servers only through a proxy of its own.",
    discussion: """
      The command has no network but the proxy, which adds tokens to its requests as `lanyard exec --proxy` does. It sees \
      neither the agent's socket nor your home: of your files, the current directory, which it may change, and what \
      --read and --write name. /tmp, /proc and the home are its own. It gains no privileges and reaches no other process.

      A profile says what a program needs: claude, codex, gemini, node, python, or one of your own in \
      ~/.config/lanyard/sandbox/NAME.json. --show prints what would be allowed, and starts nothing.

      Signals and exit codes are those of `lanyard exec`. Needs bubblewrap (bwrap).

      EXAMPLES:
        lanyard sandbox --grant claude --profile claude -- claude
        lanyard sandbox --profile python --pass https://api.example -- ./job.py
        lanyard sandbox --no-network --read ~/data -- make test
        lanyard sandbox --profile node --show
      """)

  @OptionGroup var proxy: ProxyOptions

  @Option(
    name: .customLong("read"),
    help: ArgumentHelp("A directory or a file that the command may read; may be repeated.", valueName: "path"),
    completion: .file())
  var reads: [String] = []

  @Option(
    name: .customLong("write"),
    help: ArgumentHelp("A directory that the command may change; may be repeated.", valueName: "directory"),
    completion: .directory)
  var writes: [String] = []

  @Flag(help: "No proxy, and no network at all.")
  var noNetwork = false

  @Option(
    name: .customLong("profile"),
    help: "What a kind of program needs: claude, codex, gemini, node, python, or your own; may be repeated.")
  var profiles: [String] = []

  @Option(
    name: .customLong("env"),
    help: ArgumentHelp("A variable that the command gets from here; may be repeated.", valueName: "name"))
  var env: [String] = []

  @Flag(help: "Print what the command would be allowed, and start nothing.")
  var show = false

  @OptionGroup var common: CommonOptions

  @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
  var command: [String] = []

  func validate() throws {
    if command.isEmpty, !show { throw ValidationError("The command is missing: `lanyard sandbox -- COMMAND`.") }
    if noNetwork, !proxy.passes.isEmpty { throw ValidationError("With --no-network nothing passes. Leave out --pass.") }
    for name in env where !SandboxProfile.isVariable(name) {
      throw ValidationError("\(name) is no name of a variable. Its value is that of this environment.")
    }
  }

  func run() throws {
    // First: without it there is no sandbox in any directory.
    let bwrap = try show ? nil : Self.bubblewrap()
    let profiles = try self.profiles.map { (name) throws(CommandFailure) in try SandboxProfile.named(name) }
    let plan = try self.plan(profiles)
    let named = Set(env + profiles.flatMap(\.env))
    guard let bwrap else { return try tell(plan, profiles, named) }
    for kept in plan.kept { try SandboxPlaces.make(kept) }
    Glibc.exit(try noNetwork ? run(bwrap, plan, profiles, named) : runBehindProxy(bwrap, plan, profiles, named))
  }

  private static func bubblewrap() throws(CommandFailure) -> String {
    if let path = AgentPaths.program("bwrap") { return path }
    throw CommandFailure(
      .other, name: "programMissing",
      "bwrap is not installed, and only with it there is a sandbox. The command was not run.",
      hints: ["On Debian, Fedora and Arch the package is named bubblewrap: `apt install bubblewrap`."])
  }

  // MARK: files

  private func plan(_ profiles: [SandboxProfile]) throws(CommandFailure) -> SandboxPlan {
    let places = try SandboxPlaces()
    var plan = SandboxPlan(home: places.home, directory: try places.current())
    for path in reads { plan.reads.append(try places.named(path, by: "--read", mayBeFile: true)) }
    for path in writes { plan.writes.append(try places.named(path, by: "--write", mayBeFile: false)) }
    let cache = Environment.value("XDG_CACHE_HOME") ?? "\(places.home)/.cache"
    for profile in profiles {
      // A profile names what its program has on some machines.
      for path in profile.read.map(places.expanded) where SandboxPlaces.real(path) != nil {
        plan.reads.append(try places.named(path, by: "The profile \(profile.name):", mayBeFile: true))
      }
      for path in profile.write.map(places.expanded) where SandboxPlaces.real(path) != nil {
        plan.writes.append(try places.named(path, by: "The profile \(profile.name):", mayBeFile: false))
      }
      for path in profile.keep {
        let stored = "\(cache)/lanyard/sandbox/\(profile.name)/\(path.dropFirst(2))"
        plan.kept.append(SandboxPlan.Kept(inside: places.expanded(path), outside: stored))
      }
    }
    plan.system = SandboxPlaces.system
    plan.settings = SandboxPlaces.settings
    plan.hidden = SandboxPlaces.hidden
    return plan
  }

  // MARK: the network

  private func proxyWords(_ profiles: [SandboxProfile]) -> [String] {
    proxy.words + profiles.flatMap(\.pass).flatMap { ["--may-pass", $0] } + common.proxyWords
      + (common.json ? ["--json"] : [])
  }

  /// The account that the person named, if any: for the proxy and for the command.
  private func account() throws(CommandFailure) -> String? {
    guard common.account != nil else { return nil }
    try GrantHandshake.refuseStreamForProxy()
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    var agent = try common.connect()
    let id = try AccountInfo.named(selection, via: &agent).id
    if !command.isEmpty, !show { try ExecRequest.note(command, id, via: &agent) }
    return id
  }

  private func runBehindProxy(
    _ bwrap: String, _ plan: SandboxPlan, _ profiles: [SandboxProfile], _ named: Set<String>
  ) throws(CommandFailure) -> Int32 {
    let account = try self.account()
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Self.unable("no socket could be made: \(SystemError.message(errno))")
    }
    let (filter, entry) = (try Self.filter(), try Self.entry())
    let signals = try ChildProcess.Signals()
    let words = proxyWords(profiles) + (account.map { ["--account", $0] } ?? [])
    let proxy = try CommandProxy(words, sandbox: ends[0])
    close(ends[0])
    guard let port = proxy.address.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw .notUnderstood }
    var environment = ChildEnvironment()
    if let account { environment.set("LANYARD_ACCOUNT", to: account) }
    environment.set(proxy, certificateAt: SandboxPlan.certificate)
    Self.set(&environment, plan, profiles, named)
    environment.setPlaceholders(of: proxy, but: env)
    let options = plan.words(
      program: entry, filter: Self.filterNumber, certificate: proxy.certificate,
      entering: SandboxEntry.words(channel: Self.channel, port: port, json: common.json, command))
    let status = ChildProcess.run(
      [bwrap] + options, consume environment, signals,
      wrapping: ChildProcess.Wrapping(descriptors: [filter, ends[1]]), json: common.json)
    proxy.end()
    return status
  }

  private func run(
    _ bwrap: String, _ plan: SandboxPlan, _ profiles: [SandboxProfile], _ named: Set<String>
  ) throws(CommandFailure) -> Int32 {
    var environment = ChildEnvironment()
    Self.set(&environment, plan, profiles, named)
    let (filter, entry) = (try Self.filter(), try Self.entry())
    let signals = try ChildProcess.Signals()
    let options = plan.words(
      program: entry, filter: Self.filterNumber, certificate: nil,
      entering: SandboxEntry.words(channel: nil, port: 0, json: common.json, command))
    return ChildProcess.run(
      [bwrap] + options, consume environment, signals,
      wrapping: ChildProcess.Wrapping(descriptors: [filter]), json: common.json)
  }

  /// The numbers by which bwrap and what enters the sandbox know their descriptors.
  private static let filterNumber: Int32 = 3
  private static let channel: Int32 = 4

  private static func set(
    _ environment: inout ChildEnvironment, _ plan: SandboxPlan, _ profiles: [SandboxProfile], _ named: Set<String>
  ) {
    environment.set("HOME", to: plan.home)
    environment.set("PWD", to: plan.directory)
    // The agent is outside: another one would know no account.
    environment.set("LANYARD_NO_START", to: "1")
    for profile in profiles {
      for (name, value) in profile.set.sorted(by: { $0.key < $1.key }) {
        environment.set(name, to: value.hasPrefix("~/") ? plan.home + value.dropFirst() : value)
      }
    }
    environment.leaveOutAll { !SandboxEnvironment.isKept($0, named: named) }
  }

  private static func filter() throws(CommandFailure) -> Int32 {
    let filter = lanyard_sandbox_filter()
    guard filter >= 0 else { throw unable("system calls can't be filtered: \(SystemError.message(-filter))") }
    return filter
  }

  /// This program, which enters the sandbox before the command.
  private static func entry() throws(CommandFailure) -> String {
    if let path = AgentPaths.companion("lanyard-cli") { return path }
    throw unable("the program lanyard-cli is missing beside this program")
  }

  private static func unable(_ reason: String) -> CommandFailure {
    CommandFailure(.other, name: "system", "The sandbox could not be made: \(reason). The command was not run.")
  }

  // MARK: showing

  private func tell(_ plan: SandboxPlan, _ profiles: [SandboxProfile], _ named: Set<String>) throws(CommandFailure) {
    var variables = Set(SandboxEnvironment.own + profiles.flatMap(\.set.keys))
    var next = environ
    while let entry = next.pointee {
      let name = String(cString: entry).prefix { $0 != "=" }
      if SandboxEnvironment.isKept(String(name), named: named) { variables.insert(String(name)) }
      next += 1
    }
    var reach: SandboxSummary.Reach?
    if !noNetwork {
      let account = try self.account()
      reach = try SandboxSummary.Reach(proxyWords(profiles) + (account.map { ["--account", $0] } ?? []))
      variables.formUnion(ChildEnvironment.proxyNames + [ChildEnvironment.nodeSwitch])
      if reach?.origins.isEmpty == false { variables.formUnion(ChildEnvironment.certificateNames) }
      if account != nil { variables.insert("LANYARD_ACCOUNT") }
      variables.formUnion(reach?.placeholders ?? [])
    }
    let summary = SandboxSummary(plan: plan, reach: reach, variables: variables.sorted())
    if common.json { summary.printJSON() } else { summary.printText() }
  }
}
