import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard rule`
struct RuleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rule",
    abstract: "Manage rules: which account answers for which URLs.",
    discussion: """
      Tools that ask for a credential name a URL. The longest rule that covers it chooses the account. Without a rule \
      only an account whose provider lists the URL's origin answers. A pattern is an https URL; /* at its end covers \
      everything below.

      EXAMPLES:
        lanyard rule add 'https://github.com/acme/*' work
        lanyard rule add https://registry.acme.example work    # the whole host
        lanyard resolve https://github.com/acme/app.git
      """,
    subcommands: [RuleList.self, RuleAdd.self, RuleRemove.self], defaultSubcommand: RuleList.self)
}

/// `lanyard rule add`
struct RuleAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Let an account answer for the URLs of a pattern.")

  @Argument(help: "The pattern, such as https://github.com/acme/*.")
  var pattern: String

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    // `github.com` is the host, as `https://github.com` is.
    let pattern = pattern.contains(":") || pattern.hasPrefix("/") ? pattern : "https://\(pattern)"
    do throws(CommandFailure) {
      try agent.call("rule.add") { writer in
        writer.member("pattern", pattern)
        writer.member("account", known.id)
      } result: { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.done(Text.shown("\(known.label) answers for \(result["pattern"]?.string ?? pattern)."))
      }
    } catch {
      guard let problem = error.problem, problem.path == "/pattern" else { throw error }
      throw CommandFailure.usage(
        "\(Text.shown(pattern)) is not a pattern. Expected: \(problem.expected). Nothing was changed.")
    }
  }
}

/// `lanyard rule [list]`
struct RuleList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the rules.")

  @OptionGroup var tables: TableOptions

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let accounts = common.json ? [] : try AccountInfo.all(via: &agent)
    try agent.call("rule.list") { result in
      if common.json { return Output.answer(json: result.raw) }
      let rules = result["rules"].map { Array($0.elements) } ?? []
      for damaged in result["damaged"]?.elements.compactMap(\.string) ?? [] {
        Output.warning(
          "The rule \(damaged) can't be read, so no tool gets a token. `lanyard rule remove \(damaged)` removes it.")
      }
      if rules.isEmpty { return Output.note("There is no rule. Add one: `lanyard rule add PATTERN ACCOUNT`.") }
      var table = Table(["PATTERN", "ACCOUNT", "RULE"], whole: ["PATTERN", "ACCOUNT", "RULE"])
      for rule in rules {
        let id = rule["account"]?.string ?? "-"
        table.add([
          .init(rule["pattern"]?.string ?? "-"), .init(accounts.first { $0.id == id }?.label ?? id),
          .init(rule["rule"]?.string ?? "-"),
        ])
      }
      table.print(tables)
    }
  }
}

/// `lanyard rule remove`
struct RuleRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a rule, or all rules of a pattern.")

  @Argument(help: "The rule or its pattern, as `lanyard rule list` shows them.")
  var rule: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let wanted = rule
    let (rules, patterns) = try agent.call("rule.list") { (result) throws(CommandFailure) in
      let all = result["rules"].map { Array($0.elements) } ?? []
      return (
        all.filter { $0["pattern"]?.isEqual(to: wanted) == true }.compactMap { $0["rule"]?.string },
        all.compactMap { $0["pattern"]?.string }
      )
    }
    for id in rules.isEmpty ? [wanted] : rules {
      do throws(CommandFailure) {
        try agent.perform("rule.remove") { $0.member("rule", id) }
      } catch {
        guard error.name == "notFound" || error.problem?.path == "/rule" else { throw error }
        throw CommandFailure(
          .other, name: "notFound", "There is no rule \(Text.shown(wanted)). Nothing was changed.",
          hints: (NearMiss.of(wanted, among: patterns).map { ["Did you mean \($0)?"] } ?? [])
            + ["`lanyard rule list` lists the rules."])
      }
    }
    if common.json {
      var answer = JSONWriter()
      answer.beginObject()
      answer.member("removed", rules.isEmpty ? [wanted] : rules)
      answer.endObject()
      return answer.withBytes { Output.answer(json: $0) }
    }
    Output.done(Text.shown("Removed: \(wanted)."))
  }
}

extension JSONNode {
  fileprivate func isEqual(to text: String) -> Bool { string == text }
}
