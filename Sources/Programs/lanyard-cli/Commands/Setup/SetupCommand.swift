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
    if let url, !url.hasPrefix("https://"), !url.hasPrefix("http://127.0.0.1"), !url.hasPrefix("http://localhost") {
      throw ValidationError("\(url) is no https URL.")
    }
    if undo { return }
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
      changes.append(RuleChange(pattern: url, account: account, mayStart: !common.noStart))
    }
    var missing: [any SetupChange] = []
    for change in changes {
      switch try change.state() {
      case .absent: missing.append(change)
      case .present: break
      case .taken(let other):
        throw CommandFailure(
          .other, name: "taken", "\(change.place) has other settings there: \(other). Nothing was changed.",
          hints: ["Remove that first, or add by hand: \(change.lines.joined(separator: "; "))"])
      }
    }
    if missing.isEmpty {
      if common.json { return answer([], written: false) }
      return Output.answer("\(tool.rawValue) is set up already. Nothing was changed.")
    }
    try confirm(missing, "Write this?")
    var record = try SetupRecord()
    for change in missing {
      // Noted first: what may have been written has to be found by --undo.
      record.note(change, for: tool, target)
      try record.write()
      try change.apply()
    }
    if common.json { return answer(missing, written: true) }
    Output.answer("\(tool.rawValue) is set up. To take it back: `lanyard setup \(tool.rawValue) --undo`.")
    for note in tool.notes(for: target) { Output.answer(note) }
    if url == nil, !tool.namesAccount {
      Output.note("Say which account answers for which server: `lanyard rule add URL ACCOUNT`.")
    }
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

  private func answer(_ changes: [any SetupChange], written: Bool) {
    SetupCommand.answer(changes, "written")
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
  mutating func note(_ change: any SetupChange, for tool: SetupTool, _ target: SetupTarget) {
    let name = Self.name(of: change)
    if let index = entries.firstIndex(where: { $0.isFor(tool, target) }) {
      if !entries[index].changes.contains(name) { entries[index].changes.append(name) }
    } else {
      entries.append(
        Entry(
          tool: tool.rawValue, url: target.url, account: target.account, roleARN: target.roleARN, changes: [name]))
    }
  }
}
