import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard import`
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Take over the accounts of another program.",
    discussion: """
      Lists the accounts of the other program, then asks which to take over. Without a terminal it only lists, unless \
      --yes takes over all, or those that --only names. For each account it adds a provider, if none has its issuer \
      and client, and the agent uses the refresh token at once. If the provider rotates refresh tokens, this ends the \
      session of the other program, so let that program ask Lanyard from then on.

      The store of the other program is changed only with --remove, and only where the account was taken over.

      EXAMPLES:
        lanyard import oidc-agent                 # lists, and asks
        lanyard import oidc-agent --only work --yes --pw-file FILE
        lanyard import mutt_oauth2 FILE --client-id ID \\
          --client-secret-file FILE -s openid -s https://mail.google.com/
        lanyard import msal --json                # lists, for programs
        lanyard import gcm --yes --remove         # and empties GCM's store
        lanyard import netrc                      # who answers for which host
        lanyard import dotenv .env                # keys of known services
        lanyard import google-service-account key.json --yes --remove
      """)

  /// The programs whose stores are read.
  enum Source: String, CaseIterable, ExpressibleByArgument {
    case oidcAgent = "oidc-agent"
    case pizauth
    case muttOAuth2 = "mutt_oauth2"
    case gcm, gh, msal, netrc, dotenv
    case googleServiceAccount = "google-service-account"

    func open(_ request: ImportRequest) throws(CommandFailure) -> any ImportSource {
      switch self {
      case .oidcAgent: OIDCAgentSource(request)
      case .pizauth: PizauthSource(request)
      case .muttOAuth2: try MuttOAuth2Source(request)
      case .gcm: GCMSource(request)
      case .gh: GHSource(request)
      case .msal: MSALSource(request)
      case .netrc: NetrcSource(request)
      case .dotenv: DotenvSource(request)
      case .googleServiceAccount: try GoogleServiceAccountSource(request)
      }
    }
  }

  @Argument(help: "The other program, or the kind of its file.")
  var source: Source

  @Argument(help: "Its file, if that is not in the usual place.", completion: .file())
  var file: String?

  @Option(name: .long, help: "Only this account, by the name in the list; may be repeated.")
  var only: [String] = []

  @Flag(name: [.customShort("y"), .long], help: "Take over without asking.")
  var yes = false

  @Flag(name: .long, help: "Remove what was taken over from the other program.")
  var remove = false

  @Option(name: .long, help: "The issuer, where the other program does not tell it.")
  var issuer: String?

  @Option(name: .customLong("client-id"), help: "The client id, where the other program does not tell it.")
  var clientID: String?

  @Option(
    name: .long, help: "A file with the client secret, where the other program does not tell it; - reads stdin.",
    completion: .file())
  var clientSecretFile: String?

  @Option(
    name: [.customShort("s"), .long],
    help: "A scope that the refresh token has, where the other program does not tell it; may be repeated.")
  var scope: [String] = []

  @OptionGroup var passphrase: PassphraseOptions

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if common.account != nil { throw ValidationError("The refresh token decides the account. Leave out --account.") }
    if passphrase.passphraseFile != nil, source != .oidcAgent {
      throw ValidationError("--pw-file goes with oidc-agent. gpg asks for its passphrase itself.")
    }
    if passphrase.passphraseFile == "-", clientSecretFile == "-" {
      throw ValidationError("Only one of --pw-file and --client-secret-file can read stdin.")
    }
  }

  func run() throws {
    let request = ImportRequest(file: file, passphraseFile: passphrase.passphraseFile, common: common)
    let store = try source.open(request)
    let found = try completed(store.entries())
    let entries = try chosen(of: found)
    // With --yes the list is what was done.
    if !common.json, !(yes && Output.isQuiet) { show(entries, of: store) }
    let candidates = entries.filter(isCandidate)
    guard !candidates.isEmpty else { return try tellNothing(entries, of: store) }
    guard yes || Terminal.canAsk && !common.json else {
      if common.json { ImportReport(source: source.rawValue, entries: entries).answer() }
      return Output.note("Nothing was taken over. --yes takes over all that it can; --only NAME chooses.")
    }
    var run = ImportRun(store: store, removes: remove, common: common)
    for entry in candidates where yes || asks(about: entry, of: store) {
      guard run.take(entry) else { break }
    }
    if common.json { ImportReport(source: source.rawValue, entries: entries, results: run.results).answer() }
    try run.finish()
  }

  /// With what the options add.
  private func completed(_ entries: [ImportEntry]) throws(CommandFailure) -> [ImportEntry] {
    var secret: HeldBytes?
    if let clientSecretFile {
      let line = try SecretInput.line(of: clientSecretFile, question: "Client secret (not shown): ")
      secret = line.withBytes { HeldBytes($0) }
    }
    return entries.map { entry in
      var entry = entry
      guard entry.refreshToken != nil || entry.machine != nil || entry.offersProvider else { return entry }
      entry.issuer = issuer ?? entry.issuer
      if issuer != nil { entry.endpoints = nil }
      if !scope.isEmpty { entry.scopes = scope.flatMap { $0.split(separator: " ").map(String.init) } }
      if let clientID {
        (entry.clientID, entry.clientSecret, entry.authMethod, entry.advice) = (clientID, nil, nil, [])
      }
      entry.clientSecret = secret ?? entry.clientSecret
      return entry
    }
  }

  private func chosen(of entries: [ImportEntry]) throws(CommandFailure) -> [ImportEntry] {
    guard !only.isEmpty else { return entries }
    for name in only where !entries.contains(where: { $0.name == name }) {
      throw .usage(
        "\(source.rawValue) has no account \(name). Nothing was changed.",
        hints: entries.isEmpty ? [] : ["It has: \(entries.map(\.name).joined(separator: ", "))."])
    }
    return entries.filter { only.contains($0.name) }
  }

  /// Something can be done for it: take it over, add its provider, or remove it since it is not needed any more.
  private func isCandidate(_ entry: ImportEntry) -> Bool {
    if case .none = entry.verdict { return remove && entry.answeredBy != nil }
    return true
  }

  private func show(_ entries: [ImportEntry], of store: any ImportSource) {
    guard !entries.isEmpty else { return }
    // A screen has no room for the reasons: they stand below.
    let isScreen = Terminal.showsAnswers
    var table = Table(
      ["NAME", "SERVER", "USER", "CLIENT", "SCOPES", "IMPORT"], whole: ["NAME"], folded: ["SCOPES", "IMPORT"])
    for entry in entries {
      table.add([
        .init(entry.name, .bold), .init(entry.issuer ?? entry.server ?? "-"), .init(entry.user ?? "-"),
        .init(entry.clientID ?? "-"), .init(entry.scopes.isEmpty ? "-" : entry.scopes.joined(separator: " ")),
        .init(
          [entry.verdictWord, isScreen ? nil : entry.reason].compactMap { $0 }.joined(separator: ": "),
          entry.isImportable ? .good : nil),
      ])
    }
    table.print(tables)
    // What several entries share is told once.
    let notes = entries.filter { !$0.isImportable }.map { entry in
      (name: entry.name, lines: (isScreen ? [entry.reason].compactMap { $0 } : []) + entry.advice)
    }
    var told: Set<String> = []
    for line in notes.flatMap(\.lines) where told.insert(line).inserted {
      let names = notes.filter { $0.lines.contains(line) }.map(\.name)
      Output.note(Text.shown("\(names.joined(separator: ", ")): \(line)"))
    }
  }

  private func tellNothing(_ entries: [ImportEntry], of store: any ImportSource) throws(CommandFailure) {
    if common.json { ImportReport(source: source.rawValue, entries: entries).answer() }
    guard !entries.isEmpty else { return Output.note("\(store.program) has no accounts here.") }
    // What was asked for by name can't be done.
    guard only.isEmpty || !yes else {
      throw CommandFailure(
        .other, name: "notImportable", "None of these can be taken over. Nothing was changed.",
        hints: common.json ? entries.flatMap(\.advice) : [])
    }
    Output.note("Nothing here can be taken over. Nothing was changed.")
  }

  private func asks(about entry: ImportEntry, of store: any ImportSource) -> Bool {
    let place = entry.issuer ?? entry.server ?? "-"
    let question: String
    switch entry.verdict {
    case .token, .key, .machine:
      question = "Take over \(entry.name) (\(place))\(remove ? ", and remove it from \(store.program)" : "")?"
    case .provider: question = "Add the provider of \(entry.name) (\(place))?"
    case .none: question = "Remove \(entry.name) from \(store.program)?"
    }
    return Terminal.confirm(Text.shown(question))
  }
}
