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
        lanyard events --json --position    # first, where the stream begins
        lanyard events --json --since "$epoch:$sequence"    # go on from there
        lanyard events --type session.expired --exec ./ask-me.sh
      """)

  @Option(name: .long, help: "Only events of this type; may be repeated.", completion: .list(EventTypes.all))
  var type: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Begin after this event, with the events since then.", valueName: "epoch:sequence"))
  var since: EventPosition?

  @Flag(name: .long, help: "With --json, first print where the stream begins, and whether events were lost (`gap`).")
  var position = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Run this shell command for each event, one after the other: the event is its stdin, as JSON on one line, and its "
        + "type is in LANYARD_EVENT.", valueName: "command"))
  var exec: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if position, !common.json { throw ValidationError("--position needs --json.") }
    if exec != nil, common.json { throw ValidationError("The command of --exec gets JSON anyway. Leave out --json.") }
  }

  func run() throws {
    let interruption = try Interruption()
    var agent = try common.connect()
    let account = try common.namedAccount(via: &agent)
    let names = common.json ? [:] : Self.names(via: &agent)
    let id = try agent.send("event.subscribe") { writer in
      writer.member("types", ifAny: type)
      writer.member("accounts", ifAny: account.map { [$0] } ?? [])
      guard let since else { return }
      writer.key("since")
      writer.beginObject()
      writer.member("epoch", since.epoch)
      writer.member("sequence", since.sequence)
      writer.endObject()
    }
    // An event may be on its way before the answer that names its subscription.
    var early: [(subscription: String, event: String)] = []
    var subscription = ""
    while try agent.answer(
      to: id, event: { early.append(($0["subscription"]?.string ?? "", $0.text)) },
      { (node) throws(CommandFailure) in try begin(node, as: &subscription) }) == nil
    {
      if early.count > Self.mostEarlyEvents { early.removeAll() }
      if try agent.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
    }
    let hook = exec.map { EventHook(command: $0, interruption: interruption) }
    for event in early where event.subscription == subscription { show(event.event, names: names, hook) }
    if Terminal.showsAnswers, !common.json { Output.note("Waiting for events. Ctrl-C ends this.") }
    while true {
      while try agent.event({ show($0, names: names, hook) }) != nil {
        // What the hook says is beside the point.
        guard hook != nil || !Output.takesNothing else { return }
        if hook != nil, interruption.isPending { throw Interruption.failure }
      }
      if try agent.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
    }
  }

  /// The agent sends no event before its answer; this bounds what another program could make this one keep.
  private static let mostEarlyEvents = 1_024

  /// Tells where the stream begins.
  private func begin(_ subscribed: JSONNode, as subscription: inout String) throws(CommandFailure) {
    guard let name = subscribed["subscription"]?.string, subscribed["epoch"]?.string != nil,
      subscribed["sequence"]?.integer != nil
    else {
      throw .notUnderstood
    }
    subscription = name
    if position { Output.answer(json: subscribed.raw) }
    guard !common.json, subscribed["gap"]?.bool == true else { return }
    Output.warning("The agent no longer has all events since then.")
  }

  /// Labels by account id; empty if the caller may not list accounts.
  private static func names(via agent: inout AgentConnection) -> [String: String] {
    let accounts = (try? AccountInfo.all(via: &agent)) ?? []
    return Dictionary(accounts.map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
  }

  private func show(_ event: String, names: [String: String], _ hook: EventHook?) {
    var event = event
    event.withUTF8 { bytes in
      var tape = JSONTape()
      let bytes = UnsafeRawBufferPointer(bytes)
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return }
      tape.withRoot(of: bytes) { show($0, names: names, hook) }
    }
  }

  private func show(_ event: JSONNode, names: [String: String], _ hook: EventHook?) {
    if let hook { return hook.run(event) }
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

/// `EPOCH:SEQUENCE`, as events tell them.
struct EventPosition: ExpressibleByArgument {
  let epoch: String
  let sequence: Int64

  init?(argument: String) {
    guard let colon = argument.lastIndex(of: ":"), colon > argument.startIndex,
      let sequence = Int64(argument[argument.index(after: colon)...]), sequence >= 0
    else {
      return nil
    }
    epoch = String(argument[..<colon])
    self.sequence = sequence
  }
}
