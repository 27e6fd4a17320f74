import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard setup`
struct SetupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Let a tool get its credentials from Lanyard, and take that back.",
    discussion: """
      Shows the lines that it writes into the tool's configuration, asks, and writes them. With a URL and an account it \
      also adds the rule that lets the account answer for the URL. --undo takes back exactly what was written. Without \
      a tool it lists what is configured, and tests each.

      EXAMPLES:
        lanyard setup
        lanyard setup git https://github.com/acme/* --account work
        lanyard setup docker https://registry.acme.example -u work --yes
        lanyard setup kubectl --account work
        lanyard setup aws --account work --role-arn ARN
        lanyard setup git --undo
      """)

  @Argument(help: "The tool: \(SetupTool.allCases.map(\.rawValue).joined(separator: ", ")).")
  var tool: SetupTool?

  @Argument(help: "The server, or a part of it: a pattern of `lanyard rule`.")
  var url: String?

  @Option(help: ArgumentHelp("For aws: the role.", valueName: "arn"))
  var roleArn: String?

  @Flag(name: [.customShort("y"), .long], help: "Write without asking.")
  var yes = false

  @Flag(help: "Take back what was written for this tool, or for this tool and URL.")
  var undo = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard let tool else {
      if undo { throw ValidationError("Name the tool to take back.") }
      return
    }
    if undo { return }
    if let url, !SetupTarget(url: url).isPattern {
      throw ValidationError("\(Text.shown(url)) is no https URL of a server or of a part of it.")
    }
    if let roleArn, !SetupTarget.isRole(roleArn) {
      throw ValidationError("\(Text.shown(roleArn)) is no role: arn:aws:iam::ACCOUNT:role/NAME is.")
    }
    if tool.needsURL, url == nil {
      throw ValidationError(
        "\(tool.rawValue) asks for each server alone. Name it: `lanyard setup \(tool.rawValue) URL`.")
    }
    if tool == .aws, roleArn == nil {
      throw ValidationError("Name the role: --role-arn arn:aws:iam::ACCOUNT:role/NAME.")
    }
    if tool != .aws, roleArn != nil { throw ValidationError("--role-arn is for aws.") }
  }

  func run() throws {
    guard let tool else { return try SetupList(common: common).run() }
    if undo { return try SetupUndo(tool: tool, url: url, common: common).run() }
    let account = try chosenAccount(for: tool)
    let target = SetupTarget(url: url, account: account.map { $0.alias ?? $0.id }, roleARN: roleArn)
    var changes = try tool.changes(for: target)
    if let url, let account, url.hasPrefix("https://") {
      // First: the agent may refuse it.
      let rule = RuleChange(pattern: url, account: account.id, label: account.label, mayStart: !common.noStart)
      changes.insert(rule, at: 0)
    }
    let missing = try missing(of: changes)
    if missing.isEmpty {
      try SetupRecord.locked { () throws(CommandFailure) in try share(changes, tool, target, account) }
      if common.json { return Self.answer([], "written") }
      return Output.answer("\(tool.rawValue) is set up already. Nothing was changed.")
    }
    try confirm(missing, "Write this?")
    try SetupRecord.locked { () throws(CommandFailure) in
      try share(changes, tool, target, account)
      for change in missing where try change.state() == .absent {
        var record = try SetupRecord()
        // Noted first: what may have been written has to be found by --undo.
        record.note(change, for: tool, target, account)
        try record.write()
        try change.apply()
      }
    }
    if common.json { return Self.answer(missing, "written") }
    Output.answer("\(tool.rawValue) is set up. To take it back: `lanyard setup \(tool.rawValue) --undo`.")
    for note in tool.notes(for: target) { Output.answer(note) }
    if url == nil, !tool.namesAccount {
      Output.note("Say which account answers for which server: `lanyard rule add URL ACCOUNT`.")
    }
  }

  /// The changes that are not there yet.
  private func missing(of changes: [any SetupChange]) throws(CommandFailure) -> [any SetupChange] {
    var missing: [any SetupChange] = []
    for change in changes {
      switch try change.state() {
      case .absent: missing.append(change)
      case .present: break
      case .taken(let other):
        throw CommandFailure(
          .other, name: "taken", "\(change.place) has something else there: \(other). Nothing was changed.",
          hints: ["Remove that first, or add by hand: \(change.lines.joined(separator: "; "))"])
      }
    }
    return missing
  }

  /// What `lanyard setup` wrote for another URL or tool, and this one needs too: it stays until both are taken back.
  private func share(
    _ changes: [any SetupChange], _ tool: SetupTool, _ target: SetupTarget, _ account: AccountInfo?
  ) throws(CommandFailure) {
    var record = try SetupRecord()
    let before = record.entries
    for change in changes where before.contains(where: { $0.changes.contains(change.identity) }) {
      record.note(change, for: tool, target, account)
    }
    if record.entries != before { try record.write() }
  }

  /// The account of `--account`, or the one that is used here if the tool's lines need one. With a URL alone nothing is
  /// chosen: its rules stay as they are.
  private func chosenAccount(for tool: SetupTool) throws(CommandFailure) -> AccountInfo? {
    guard tool.namesAccount || common.account != nil else { return nil }
    let selection = try AccountSelection.choose(argument: common.account)
    var agent = try common.connect()
    return try AccountInfo.named(selection.located(via: &agent), via: &agent)
  }

  static func show(_ changes: [any SetupChange]) {
    var place: String?
    for change in changes {
      if change.place != place { Output.answer(Style.bold(Text.shown(change.place))) }
      place = change.place
      for line in change.lines { Output.answer("  " + Text.shown(line)) }
    }
  }

  /// Shows the changes, and asks unless `--yes` was given.
  private func confirm(_ changes: [any SetupChange], _ question: String) throws(CommandFailure) {
    if !common.json { Self.show(changes) }
    if yes { return }
    guard Terminal.canAsk, !common.json else {
      throw .usage("Nothing was changed: no person can be asked here.", hints: ["Add --yes to write it unasked."])
    }
    guard Terminal.confirm(question) else {
      throw CommandFailure(.other, name: "declined", "Nothing was changed.")
    }
  }

  static func answer(_ changes: [any SetupChange], _ member: StaticString) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key(member)
    writer.beginArray()
    for change in changes {
      writer.beginObject()
      writer.member("place", change.place)
      writer.member("lines", change.lines)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}

extension SetupRecord {
  mutating func note(
    _ change: any SetupChange, for tool: SetupTool, _ target: SetupTarget, _ account: AccountInfo?
  ) {
    if let index = entries.firstIndex(where: { $0.isFor(tool, target) }) {
      if !entries[index].changes.contains(change.identity) { entries[index].changes.append(change.identity) }
    } else {
      entries.append(
        Entry(
          tool: tool.rawValue, url: target.url, account: target.account, accountID: account?.id,
          roleARN: target.roleARN, changes: [change.identity]))
    }
  }
}
