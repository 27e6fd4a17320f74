import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard events`
struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show events as they happen, until Ctrl-C.",
    discussion: """
      EXAMPLES:
        lanyard events --type session.expired --type token.refreshed
        lanyard events -u work --json
      """)

  @Option(name: .long, help: "Only events of this type; may be repeated.", completion: .list(EventTypes.all))
  var type: [String] = []

  @OptionGroup var common: CommonOptions

  func run() throws {
    let interruption = try Interruption()
    var agent = try common.connect()
    let account = try common.namedAccount(via: &agent)
    let names = common.json ? [:] : Self.names(via: &agent)
    let id = try agent.send("event.subscribe") { writer in
      writer.member("types", ifAny: type)
      writer.member("accounts", ifAny: account.map { [$0] } ?? [])
    }
    while try agent.answer(to: id, { _ in true }) == nil {
      if try agent.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
    }
    if Terminal.showsAnswers, !common.json { Output.note("Waiting for events. Ctrl-C ends this.") }
    while true {
      while try agent.event({ show($0, names: names) }) != nil {}
      if try agent.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
    }
  }

  /// Labels by account id; empty if the caller may not list accounts.
  private static func names(via agent: inout AgentConnection) -> [String: String] {
    let accounts = (try? AccountInfo.all(via: &agent)) ?? []
    return Dictionary(accounts.map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
  }

  private func show(_ event: JSONNode, names: [String: String]) {
    guard !common.json else { return Output.answer(json: event.raw) }
    let type = event["type"]?.string ?? ""
    let at = event["at"]?.string.flatMap { Moment($0) }?.clock ?? "--:--:--"
    var parts = ["\(Style.faint(at))  \(Style.bold(Text.shown(type)))"]
    if let account = event["account"]?.string { parts.append(Text.shown(names[account] ?? account)) }
    if let data = event["data"] {
      parts += data.members.map { key, value in
        Text.shown("\(key.string ?? "")=\(value.string ?? value.text)")
      }
    }
    Output.answer(parts.joined(separator: "  "))
  }
}
