import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard revocations send`
struct RevocationsSend: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send the revocations now, then list those that still wait.",
    discussion: """
      EXIT CODES:
        1  a provider refuses a revocation
        5  a provider could not be reached, or could not revoke
      """,
    aliases: ["retry"])

  @Argument(help: "The revocation. Default: all.")
  var revocation: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    // Only names what was revoked: an older grant may not list.
    let before = (try? agent.call("revocation.list") { RevocationInfo.all($0) }) ?? []
    let wanted = revocation.map { name in before.filter { $0.id == name } } ?? before
    agent.waitsFor = wanted.count == 1 ? wanted[0].name : "the providers"
    let left = try agent.call("revocation.retry", params: { $0.member("revocation", revocation) }) { result in
      if common.json { Output.answer(json: result.raw) }
      return RevocationInfo.all(result).filter { entry in revocation == nil || entry.id == revocation }
    }
    if !common.json { tell(wanted, left) }
    guard !left.isEmpty else { return }
    let status: ExitStatus = left.contains { $0.isRefused } ? .other : .providerUnreachable
    guard !common.json else { return try OtherAnswer.end(with: status) }
    throw Self.failure(left, of: max(wanted.count, left.count), status)
  }

  private func tell(_ wanted: [RevocationInfo], _ left: [RevocationInfo]) {
    if wanted.isEmpty, left.isEmpty { return Output.note("No revocation waits.") }
    for entry in wanted where !left.contains(where: { $0.id == entry.id }) {
      Output.done(Text.shown("Revoked: \(entry.name)."))
    }
    if !Output.isQuiet { for line in left.flatMap(\.lines) { Output.answer(text: line) } }
  }

  private static func failure(_ left: [RevocationInfo], of all: Int, _ status: ExitStatus) -> CommandFailure {
    let what =
      all == 1
      ? "The revocation of \(left[0].name) is not done: its token may still be valid."
      : "\(left.count) of \(all) revocations are not done: those tokens may still be valid."
    let why = Set(left.map(\.trouble)).count == 1 ? left[0].trouble.map { $0 + " " } ?? "" : ""
    let first = left.filter { $0.nextAttempt != nil }.min { $0.nextAttempt! < $1.nextAttempt! }
    let next = first?.next.map { " \($0)" } ?? " by itself"
    return CommandFailure(
      status, name: status == .other ? "providerMisconfigured" : "providerUnavailable",
      "\(why)\(what) The agent tries again\(next).",
      hints: ["`lanyard revocations` shows what waits."])
  }
}
