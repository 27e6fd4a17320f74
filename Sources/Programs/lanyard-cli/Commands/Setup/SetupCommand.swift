import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard setup`
struct SetupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "setup",
    abstract: "Let a tool get its credentials from Lanyard, or undo that.",
    discussion: """
      Shows the lines that it writes into the tool's configuration, asks, and writes them. With a URL and an account \
      it also adds the rule that lets the account answer for the URL. --undo removes exactly what was written. Without \
      a tool it lists what is configured, and tests each.

      Programs that start MCP servers, as AI agents do (claude, codex, cursor, gemini, vscode), get an entry that starts \
      `lanyard mcp URL`. No token is written to their files, and no rule is added.

      claude --skill writes a text that tells the AI agent how to ask properly: for requests, and for what it may not do \
      yet. With --grant it also gets the tools for that (`lanyard mcp --self`) under this grant.

      EXAMPLES:
        lanyard setup
        lanyard setup git https://github.com/acme/* --account work
        lanyard setup docker https://registry.acme.example -u work --yes
        lanyard setup kubectl --account work
        lanyard setup aws --account work --role-arn ARN
        lanyard setup claude https://mcp.acme.example/mcp
        lanyard setup claude --skill --grant ~/.config/claude.grant
        lanyard setup vscode https://mcp.acme.example/mcp --scope project
        lanyard setup git --undo
      """)

  @Argument(help: "The tool: \(SetupTool.allCases.map(\.rawValue).joined(separator: ", ")).")
  var tool: SetupTool?

  @Argument(
    help: "The server, or a part of it: a pattern of `lanyard rule`. For a program with MCP servers: its address.")
  var url: String?

  @Option(help: "For a program with MCP servers: the entry's name there. Default: from the host.")
  var name: String?

  @Option(
    help: ArgumentHelp(
      "For a program with MCP servers: user, for all of your projects, or project, for all who work in this directory. "
        + "Default: user.",
      valueName: "user|project"))
  var scope: SetupScope?

  @Option(help: ArgumentHelp("For aws: the role.", valueName: "arn"))
  var roleArn: String?

  @Flag(help: "For claude: write a text that tells the AI agent how to ask.")
  var skill = false

  @Option(
    help: ArgumentHelp(
      "With --skill: the file with the grant's secret, under which the AI agent gets the tools.", valueName: "file"),
    completion: .file())
  var grant: String?

  @Flag(name: [.customShort("y"), .long], help: "Write without asking.")
  var yes = false

  @Flag(help: "Remove what was written for this tool, or for this tool and URL.")
  var undo = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard let tool else {
      if undo { throw ValidationError("Name the tool to undo.") }
      return
    }
    if !tool.startsServers, name != nil || scope != nil {
      throw ValidationError("--name and --scope are for programs that start MCP servers, such as claude.")
    }
    if skill, tool != .claude { throw ValidationError("--skill is for claude.") }
    if skill, url != nil || roleArn != nil { throw ValidationError("--skill takes no URL: it is for no server.") }
    if grant != nil, !skill { throw ValidationError("--grant goes with --skill.") }
    if grant != nil, scope == .project {
      throw ValidationError("A grant is yours alone: leave out --scope project, or --grant.")
    }
    if undo { return }
    if tool.startsServers {
      if let url, let problem = ServerURL.problem(url) { throw ValidationError("\(Text.shown(url)) \(problem)") }
      if let name, let problem = ServerName.problem(name, for: tool) { throw ValidationError(problem) }
    } else if let url, !SetupTarget(url: url).isPattern {
      throw ValidationError("\(Text.shown(url)) is not the https URL of a server or of a part of it.")
    }
    if let roleArn, !SetupTarget.isRole(roleArn) {
      throw ValidationError("\(Text.shown(roleArn)) is not a role such as arn:aws:iam::ACCOUNT:role/NAME.")
    }
    if tool.needsURL, url == nil, !skill {
      let reason = tool.startsServers ? "has an entry for each server" : "asks for each server alone"
      throw ValidationError("\(tool.rawValue) \(reason). Name it: `lanyard setup \(tool.rawValue) URL`.")
    }
    if tool == .aws, roleArn == nil {
      throw ValidationError("Name the role: --role-arn arn:aws:iam::ACCOUNT:role/NAME.")
    }
    if tool != .aws, roleArn != nil { throw ValidationError("--role-arn is for aws.") }
  }

  func run() throws {
    guard let tool else { return try SetupList(common: common).run() }
    let project = try scope == .project ? SetupPlaces.here() : nil
    if undo {
      return try SetupUndo(
        tool: tool, url: url, name: name, scope: scope, project: project, isSkill: skill, common: common
      ).run()
    }
    let account = try chosenAccount(for: tool)
    var target = SetupTarget(url: url, account: account.map(Self.name(of:)), roleARN: roleArn, project: project)
    if skill { target.skill = AgentSkill(grant: grant.map(AgentPaths.absolute)) }
    if tool.startsServers, !skill || grant != nil {
      target.name = name ?? (skill ? AgentSkill.name : ServerName.proposed(for: target.host ?? ""))
      try chooseFreeName(&target, for: tool)
    }
    var changes = try tool.changes(for: target)
    if let url, let account, url.hasPrefix("https://"), !tool.startsServers {
      // First: the agent may refuse it.
      let rule = RuleChange(pattern: url, account: account.id, label: account.label, mayStart: !common.noStart)
      changes.insert(rule, at: 0)
    }
    let missing = try missing(of: changes)
    if missing.isEmpty {
      try SetupRecord.locked { () throws(CommandFailure) in try share(changes, tool, target, account) }
      if common.json { return Self.answer([], "written") }
      return Output.done("\(tool.rawValue) is set up already. Nothing was changed.")
    }
    try confirm(missing, "Write this?")
    try SetupRecord.locked { () throws(CommandFailure) in
      try share(changes, tool, target, account)
      for change in missing where try change.state() == .absent {
        var record = try SetupRecord()
        record.note(change, for: tool, target, account)
        try change.apply(notingIn: &record)
      }
    }
    if common.json { return Self.answer(missing, "written") }
    Output.done("\(tool.rawValue) is set up. To undo it: `lanyard setup \(tool.rawValue) --undo`.")
    for note in tool.notes(for: target) { Output.done(note) }
    if skill, grant == nil {
      Output.done(
        "For the tools that it speaks of, name a grant too: `lanyard setup claude --skill --grant FILE`.")
    }
    if project != nil, let account = target.account {
      Output.note(
        Text.shown("All who work on this project need an account \(account). Without --account each has their own."))
    }
    if url == nil, !tool.namesAccount, !skill {
      Output.note("Choose which account answers for which server: `lanyard rule add URL ACCOUNT`.")
    }
  }

  /// The account's name as it comes into lines; its id where another tool would read a variable in the name.
  private static func name(of account: AccountInfo) -> String {
    guard let alias = account.alias, !alias.contains("$"), alias.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      return account.id
    }
    return alias
  }

  /// Asks for another name while an entry of the person has it.
  private func chooseFreeName(_ target: inout SetupTarget, for tool: SetupTool) throws(CommandFailure) {
    while case .taken(let other, byName: true) = try tool.serverEntry(target).state() {
      let place = try tool.serverEntry(target).place
      let message = "\(place) has another entry there: \(other)."
      guard Terminal.canAsk, !common.json, !yes else {
        throw .usage("\(message) Nothing was changed.", hints: ["Choose another name for this one: --name NAME"])
      }
      Output.note(Text.shown(message))
      guard let answer = Terminal.ask("Another name for this one (empty: none): "), !answer.isEmpty else {
        throw CommandFailure(.other, name: "declined", "Nothing was changed.")
      }
      if let problem = ServerName.problem(answer, for: tool) {
        Output.note(problem)
      } else {
        target.name = answer
      }
    }
  }

  /// The changes that are not there yet.
  private func missing(of changes: [any SetupChange]) throws(CommandFailure) -> [any SetupChange] {
    var missing: [any SetupChange] = []
    for change in changes {
      switch try change.state() {
      case .absent: missing.append(change)
      case .present: break
      case .taken(let other, _):
        throw CommandFailure(
          .other, name: "taken", "\(change.place) has another entry there: \(other). Nothing was changed.",
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
    return try AccountInfo.named(selection, via: &agent)
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
    if !common.json, !(yes && Output.isQuiet) { Self.show(changes) }
    if yes { return }
    guard Terminal.canAsk, !common.json else {
      throw .usage(
        "Nothing was changed: without a terminal this command can't ask.",
        hints: ["Add --yes to write it without asking."])
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
          roleARN: target.roleARN, name: target.name, project: target.project, skill: target.skill,
          changes: [change.identity]))
    }
  }
}
