import CommandSupport
import JSONRPC

/// Asks for the address that the person copied from the browser, until it fits.
struct PastedAddress {
  let signIn: String

  /// How the sign-in stands afterwards. A wrong line is asked for again at a terminal; from a pipe there is one.
  func complete<Result>(
    over agent: inout AgentConnection, _ result: (JSONNode) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    guard Terminal.canType else { return try send(try SecretInput.line(of: "-", question: ""), over: &agent, result) }
    while true {
      let address = try SecretInput.ask("Paste it here (it is not shown): ")
      guard !address.isEmpty else { continue }
      do throws(CommandFailure) {
        return try send(address, over: &agent, result)
      } catch {
        // The sign-in waits for another one, or for a better moment.
        guard error.attemptsLeft != nil || error.status == .providerUnreachable else { throw error }
        Output.note("\(Text.shown(error.message))\(words(error.attemptsLeft))\n")
      }
    }
  }

  private func words(_ attemptsLeft: Int64?) -> String {
    switch attemptsLeft {
    case nil: ""
    case 1?: " One more try."
    case let left?: " \(left) more tries."
    }
  }

  private func send<Result>(
    _ address: borrowing SecretInput, over agent: inout AgentConnection,
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
