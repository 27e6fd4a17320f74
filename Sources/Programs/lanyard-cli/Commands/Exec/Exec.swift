import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard exec`
struct Exec: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a command with a token in its environment, or in a file that is kept fresh.",
    discussion: """
      The command gets LANYARD_TOKEN, or what --env and --file ask for, and LANYARD_ACCOUNT with the account's id, so \
      that programs that it calls use the same account. Of an account with a key it gets the variables that \
      the provider names, such as OPENAI_API_KEY, in place of LANYARD_TOKEN; those of --env come beside them. An environment can't be renewed: for a command that runs \
      longer than a token lives, use --file. The file has mode 0600, is replaced before its token expires, and is \
      removed at the end.

      With --proxy the command gets no token. Its requests go through a proxy of its own, which adds the token to them \
      and ends with the command (`lanyard help proxy`). A variable such as OPENAI_API_KEY has a placeholder, so that libraries \
      start; it is no secret.

      Signals are passed on. The exit code is the command's own, 128 and the signal's number if a signal ended it, 127 \
      if there is no such command, 126 if it can't be run.

      EXAMPLES:
        lanyard exec work -- ./deploy.sh
        lanyard exec openai -- python chat.py         # the key is in OPENAI_API_KEY
        lanyard exec work --env GH_TOKEN --env ID_TOKEN=id -- ./release.sh
        lanyard exec work --file token -- ./sync.sh   # see LANYARD_TOKEN_FILE
        lanyard exec --proxy --grant ci -- ./agent    # no token: see `lanyard proxy`
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A variable for the command, with the access token or the ID token; may be repeated.",
      valueName: "name[=token|id]"))
  var env: [String] = []

  @Option(
    help: ArgumentHelp(
      "A file with the access token. A name without a slash lies in the runtime directory.", valueName: "path"))
  var file: String?

  @Flag(
    name: .customLong("proxy"),
    help: "Give the command a proxy that adds the token to its requests, instead of a token.")
  var usesProxy = false

  @OptionGroup var proxy: ProxyOptions

  @OptionGroup var common: CommonOptions

  @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
  var command: [String] = []

  func validate() throws {
    guard !command.isEmpty else { throw ValidationError("The command is missing: `lanyard exec ACCOUNT -- COMMAND`.") }
    if usesProxy, !env.isEmpty || file != nil {
      throw ValidationError("With --proxy the command gets no token. Leave out --env and --file.")
    }
    if !usesProxy, proxy.grant != nil { throw ValidationError("--grant belongs to --proxy.") }
    if !usesProxy, !proxy.passes.isEmpty { throw ValidationError("--pass belongs to --proxy.") }
    if !usesProxy, proxy.noPlaceholders { throw ValidationError("--no-placeholders belongs to --proxy.") }
    for text in env where TokenVariable(text) == nil {
      throw ValidationError("\(text) is not a variable: write NAME, NAME=token or NAME=id.")
    }
  }

  /// Runs the command behind a proxy of its own. Without a named account, the URL of each request decides.
  private func runBehindProxy() throws {
    try GrantHandshake.refuseStreamForProxy()
    var words = proxy.words + common.proxyWords + (common.json ? ["--json"] : [])
    var environment = ChildEnvironment()
    if account ?? common.account != nil {
      let selection = try AccountSelection.choose(argument: account, option: common.account)
      var agent = try common.connect()
      let id = try AccountInfo.named(selection, via: &agent).id
      try ExecRequest.note(command, id, via: &agent)
      environment.set("LANYARD_ACCOUNT", to: id)
      words += ["--account", id]
    }
    let signals = try ChildProcess.Signals()
    let proxy = try CommandProxy(words)
    environment.set(proxy)
    environment.setPlaceholders(of: proxy)
    let status = ChildProcess.run(command, consume environment, signals, json: common.json)
    proxy.end()
    Glibc.exit(status)
  }

  func run() throws {
    guard !usesProxy else { return try runBehindProxy() }
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    let account = known.id
    let variables = try variables(of: known, via: &agent)
    var environment = ChildEnvironment()
    environment.set("LANYARD_ACCOUNT", to: account)
    let credential = ResourceCredential(account: account)
    for variable in variables {
      try environment.set(variable.name) { (value) throws(CommandFailure) in
        switch variable.kind {
        case .access: try credential.token(via: &agent) { value.text($0) }
        case .identity: try credential.identity(via: &agent) { value.text($0) }
        }
      }
    }
    // Ctrl-C ends the wait for a token, and nothing after the first write: the file has to be removed.
    if file != nil { try credential.token(via: &agent) { _ in } }
    // Only now: an account without a token gives the command none.
    try ExecRequest.note(command, account, via: &agent)
    // The agent keeps no place for it while the command runs.
    _ = consume agent
    let signals = try ChildProcess.Signals()
    let tokenFile = try file.map { (path) throws(CommandFailure) in
      try TokenFile(path: TokenFile.path(for: path), account: account, mayStart: !common.noStart)
    }
    if let tokenFile { environment.set("LANYARD_TOKEN_FILE", to: tokenFile.path) }
    let renewal = tokenFile.map { file in { file.renewWhenDue() } }
    let status = ChildProcess.run(
      command, consume environment, signals, whileWaiting: renewal, json: common.json)
    tokenFile?.remove()
    Glibc.exit(status)
  }
}

extension Exec {
  /// What the options ask for. Without --file also the variables in which programs look for the account's key; without any
  /// of these `LANYARD_TOKEN`.
  private func variables(
    of account: AccountInfo, via agent: inout AgentConnection
  ) throws(CommandFailure) -> [TokenVariable] {
    let asked = env.compactMap { TokenVariable($0) }
    guard file == nil else { return asked }
    var usual: [String] = []
    if account.kind == "secret" {
      // A grant may give the key and not tell of the provider.
      usual = (try? ProviderInfo.named(account.provider, via: &agent))?.environment ?? []
    }
    let variables = asked + usual.map { TokenVariable(name: $0, kind: .access) }
    return variables.isEmpty ? [TokenVariable(name: "LANYARD_TOKEN", kind: .access)] : variables
  }
}

/// A variable of the command, from `NAME`, `NAME=token` or `NAME=id`.
struct TokenVariable {
  enum Kind: String { case access = "token", identity = "id" }

  var name: String
  var kind: Kind

  init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }

  init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
    guard let kind = Kind(rawValue: parts.count == 2 ? parts[1] : "token"), Self.isName(parts[0]) else { return nil }
    self.init(name: parts[0], kind: kind)
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39 ~= first) else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
      default: false
      }
    }
  }
}
