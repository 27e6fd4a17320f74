import CommandSupport
import JSONRPC

/// Asks for the address from the browser, until the agent accepts it.
struct PastedAddress {
  let signIn: String

  /// Passes the progress of the sign-in to `result`. Asks again after a wrong address, but only at a terminal.
  func complete<Result>(
    via agent: inout AgentConnection, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    guard Terminal.canType else {
      // The agent takes line ends out of an address that was wrapped.
      return try send(try SecretInput.line(of: "-", question: "", takesLines: true), via: &agent, result)
    }
    while true {
      let address = try SecretInput.ask("Paste it here (it is not shown): ", takesLines: true)
      guard !address.isEmpty else { continue }
      do throws(CommandFailure) {
        return try send(address, via: &agent, result)
      } catch {
        // The sign-in is still open: the person can paste again.
        guard error.attemptsLeft != nil || error.status == .providerUnreachable else { throw error }
        Output.instruction(Text.shown(Self.words(of: error)) + "\n")
      }
    }
  }

  /// How the agent's messages end a sign-in that is over.
  private static let ends = [" Nothing was kept; sign in again.", " Nothing was kept; begin again."]

  /// What was wrong with the address, while the sign-in is still open.
  private static func words(of failure: CommandFailure) -> String {
    guard let left = failure.attemptsLeft else { return failure.message }
    let tries = left == 1 ? "One more try." : "\(left) more tries."
    if failure.reason == "refused" {
      return "The provider refused this: it is not the address or the code of this sign-in. Paste it again. \(tries)"
    }
    guard let end = ends.first(where: failure.message.hasSuffix) else { return "\(failure.message) \(tries)" }
    return "\(failure.message.dropLast(end.count)) Paste it again. \(tries)"
  }

  private func send<Result>(
    _ address: borrowing SecretInput, via agent: inout AgentConnection,
    _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    try agent.call("signIn.complete") { writer in
      writer.member("signIn", signIn)
      writer.key("redirectUrl")
      address.withBytes { writer.string(utf8: $0) }
    } result: { (node) throws(CommandFailure) in
      try result(node)
    }
  }
}
