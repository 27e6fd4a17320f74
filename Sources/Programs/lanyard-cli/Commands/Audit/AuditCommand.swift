import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard audit`
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Show what was decided and changed here, and check that nobody altered the record.",
    discussion: """
      The agent writes down each decision, sign-in, sign-out and change before it answers. Entries are numbered, sealed \
      and chained: one that was edited, removed or moved shows. No token, secret or name of a person stands among them.

      The newest entry is the last one shown; times are of this place. Who asked is what a program calls itself, and \
      nobody vouches for it.

      EXIT CODES:
        1 with --verify: the log is not as it was written.

      EXAMPLES:
        lanyard audit                       # the last 100 entries
        lanyard audit --account work --limit 20
        lanyard audit --after 120           # what followed entry 120, up to 100 entries
        lanyard audit --verify              # checks the whole log
        lanyard audit --json | jq .entries
      """)

  @Option(name: .long, help: ArgumentHelp("Only entries after this number, from there on.", valueName: "number"))
  var after: Int?

  @Option(name: .long, help: ArgumentHelp("At most so many entries.", valueName: "count"))
  var limit = 100

  @Flag(name: .long, help: "Check the whole log instead of showing it.")
  var verify = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let after, after < 0 { throw ValidationError("--after takes the number of an entry, 0 or more.") }
    if limit < 1 { throw ValidationError("--limit takes 1 or more.") }
    if verify, after != nil { throw ValidationError("--verify checks the whole log: leave out --after.") }
  }

  func run() throws {
    var agent = try common.connect()
    if verify { return try check(over: &agent) }
    let entries = try AuditPages(account: common.account, after: after, limit: limit).read(over: &agent)
    if common.json { return Output.answer(AuditPages.json(entries)) }
    if entries.isEmpty { return Output.note("No entry.") }
    let labels = try labels(over: &agent)
    var table = Table(["NUMBER", "WHEN", "ACCOUNT", "WHAT", "ASKED BY"])
    for entry in entries {
      table.add([
        .init(String(entry.sequence), .faint), .init(entry.when), .init(entry.account.map { labels[$0] ?? $0 } ?? "-"),
        .init(entry.words, entry.style), .init(entry.client ?? "-"),
      ])
    }
    table.print()
  }

  /// Accounts that were forgotten have no name any more.
  private func labels(over agent: inout AgentConnection) throws(CommandFailure) -> [String: String] {
    Dictionary(try AccountInfo.all(over: &agent).map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
  }

  private func check(over agent: inout AgentConnection) throws {
    let isIntact = try agent.call("audit.verify") { result in
      let isIntact = result["intact"]?.bool ?? false
      if common.json {
        Output.answer(json: result.raw)
      } else if isIntact {
        let count = result["entries"]?.integer ?? 0
        Output.answer("Intact: \(count == 1 ? "1 entry is" : "\(count) entries are") as written.")
      } else {
        for line in Self.broken(at: result["firstBroken"]?.integer) { Output.answer(line) }
      }
      return isIntact
    }
    try OtherAnswer.end(with: isIntact ? .success : .other)
  }

  private static func broken(at number: Int64?) -> [String] {
    let place = number.map { "Entry \($0) was edited, removed, moved or added" } ?? "An entry was changed"
    return [
      Style.bad("Not intact:") + " the audit log is not as the agent wrote it.",
      "\(place) by something else than the agent.",
      number.map { $0 > 1 ? "What stands before it is as written; nothing from it on is proven." : nil }
        ?? "Nothing in it is proven.",
      "Accounts and tokens are not touched by this. Ask whoever administers this machine.",
    ].compactMap { $0 }
  }
}
