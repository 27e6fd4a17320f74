import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations [list]`
struct RevocationsList: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the revocations that wait.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    try agent.call("revocation.list") { Self.show($0, json: common.json) }
  }

  /// Prints the revocations that wait.
  static func show(_ result: JSONNode, json: Bool) {
    if json { return Output.answer(json: result.raw) }
    let entries = result["revocations"].map { Array($0.elements) } ?? []
    if entries.isEmpty { return Output.note("No revocation waits.") }
    for entry in entries {
      for line in lines(entry) { Output.answer(text: line) }
    }
  }

  /// What is to be revoked, when it is sent, and what went wrong. On a screen the id has a line of its own if it has to.
  static func lines(_ entry: JSONNode) -> [String] {
    let what = Text.shown("\(word(entry, "accountLabel")) at \(word(entry, "issuer"))")
    let first = "\(Text.shown(word(entry, "id")))  \(what)"
    let isLong = Terminal.showsAnswers && TextWidth.of(first) > Terminal.answerColumns
    return (isLong ? [Text.shown(word(entry, "id")), "  \(what)"] : [first])
      + ["  \(Text.shown(plan(entry)))"] + (trouble(entry).map { ["  \(Text.shown($0))"] } ?? [])
  }

  private static func word(_ entry: JSONNode, _ name: StaticString) -> String { entry[name]?.string ?? "-" }

  /// Attempts so far, the next attempt and the end.
  private static func plan(_ entry: JSONNode) -> String {
    let attempts = entry["attempts"]?.integer ?? 0
    let next = entry["nextAttemptAt"]?.string.flatMap { Moment($0) }
    let end = entry["expiresAt"]?.string.flatMap { Moment($0) }.map { ", given up \($0.relative)" } ?? ""
    guard attempts > 0 else {
      let planned = next.flatMap { $0 > .now ? "sent \($0.relative) or when the network changes" : nil }
      return "not tried yet, \(planned ?? "sent now")\(end)"
    }
    let when =
      next.map { $0.seconds > Moment.now.seconds ? "again \($0.relative)" : "again now" } ?? "not again by itself"
    return "tried \(attempts == 1 ? "once" : "\(attempts) times"), \(when)\(end)"
  }

  /// The last failure. After each of them the token may still be valid.
  static func trouble(_ entry: JSONNode) -> String? {
    switch entry["lastError"]?["name"]?.string {
    case "offline"?: "The provider could not be reached."
    case "providerUnavailable"?: "The provider could not revoke it now; until then the token stays valid."
    case "providerMisconfigured"?:
      "The provider refuses this client; the token may stay valid until it expires."
    case let other?: other
    case nil: nil
    }
  }
}
