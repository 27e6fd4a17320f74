import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard audit`
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Show the audit log, or check that it is unchanged.",
    discussion: """
      The agent records each decision, sign-in, sign-out and change before it answers. Entries are numbered, sealed \
      and chained, so --verify finds an entry that was edited, removed or moved. The log holds no token, no secret and \
      no name of a person. Equal decisions within an hour are one entry, which counts them. Sign-ins, sign-outs and \
      changes are kept for a year at least; of the decisions, the newest 95,000 are kept.

      The newest entry comes last. Times are local. ASKED BY is the name that a program gave itself; the agent does \
      not check it.

      EXIT CODES:
        1  --verify found a change

      EXAMPLES:
        lanyard audit                       # the last 100 entries
        lanyard audit --account work --limit 20
        lanyard audit --after 120           # up to 100 entries after entry 120
        lanyard audit --verify              # check the whole log
        lanyard audit --json | jq .entries
      """)

  @Option(name: .long, help: ArgumentHelp("Show the entries after this number.", valueName: "number"))
  var after: Int?

  @Option(name: .long, help: ArgumentHelp("Show at most this many entries.", valueName: "count"))
  var limit = 100

  @Flag(name: .long, help: "Check the whole log instead of showing it.")
  var verify = false

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let after, after < 0 { throw ValidationError("--after takes the number of an entry, 0 or more.") }
    if limit < 1 { throw ValidationError("--limit takes 1 or more.") }
    if verify, after != nil { throw ValidationError("--verify checks the whole log: leave out --after.") }
  }

  func run() throws {
    var agent = try common.connect()
    if verify { return try check(via: &agent) }
    let account = try common.namedAccount(via: &agent)
    let entries = try AuditPages(account: account, after: after, limit: limit).read(via: &agent)
    if common.json { return Output.answer(json: AuditPages.json(entries)) }
    if entries.isEmpty { return Output.note("No entry.") }
    let labels = try labels(via: &agent)
    var table = Table(
      ["NUMBER", "WHEN", "ACCOUNT", "WHAT", "ASKED BY"], whole: ["NUMBER", "WHEN"], folded: ["WHAT"])
    for entry in entries {
      table.add([
        .init(String(entry.sequence), .faint), .init(entry.when), .init(entry.account.map { labels[$0] ?? $0 } ?? "-"),
        .init(entry.sentence, entry.style), .init(entry.client ?? "-"),
      ])
    }
    table.print(tables)
  }

  /// Labels by account id. A forgotten account has none.
  private func labels(via agent: inout AgentConnection) throws(CommandFailure) -> [String: String] {
    Dictionary(try AccountInfo.all(via: &agent).map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
  }

  private func check(via agent: inout AgentConnection) throws {
    let isIntact = try agent.call("audit.verify") { result in
      let isIntact = result["intact"]?.bool ?? false
      if common.json {
        Output.answer(json: result.raw)
      } else if isIntact {
        let count = result["entries"]?.integer ?? 0
        Output.answer(text: "Intact: \(count == 1 ? "1 entry is" : "\(count) entries are") unchanged.")
      } else {
        for line in Self.broken(at: result["firstBroken"]?.integer) { Output.answer(line) }
      }
      return isIntact
    }
    try OtherAnswer.end(with: isIntact ? .success : .other)
  }

  private static func broken(at number: Int64?) -> [String] {
    let place = number.map { "Entry \($0) was edited, removed, moved or added" } ?? "An entry was changed"
    let proven =
      number.flatMap { $0 > 1 ? "Earlier entries are unchanged; entry \($0) and later ones are not proven." : nil }
      ?? "No entry is proven."
    return [
      Style.bad("Not intact:") + " the audit log is not as the agent wrote it.",
      "\(place), and not by the agent.",
      proven,
      "Accounts and tokens are not affected. Ask the administrator of this machine.",
    ]
  }
}
