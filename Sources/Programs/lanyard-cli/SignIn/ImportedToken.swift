import CommandSupport
import Glibc
import JSONRPC

/// Passes a refresh token of another program to the agent. Reads it from a file, from stdin or from the terminal
/// without echo; never from the command line, which every process can read.
struct ImportedToken {
  let provider: String
  var alias: String?
  /// Nil or `-` for stdin or the terminal.
  var file: String?
  var json = false

  static let goesOn =
    "The sign-in goes on, since its token may be good only once: `lanyard list` shows whether the account is there."

  /// Sends the token; returns the id of its account.
  func handOver(to agent: inout AgentConnection) throws(CommandFailure) -> String {
    let token = try read()
    do throws(CommandFailure) {
      return try Interruption.telling(Self.goesOn, json: json) { () throws(CommandFailure) in
        try agent.call("signIn.import") { writer in
          writer.member("provider", provider)
          writer.key("refreshToken")
          token.withBytes { writer.string(utf8: $0) }
          writer.member("alias", alias)
        } result: { (result) throws(CommandFailure) in
          guard let account = result["account"]?.string else {
            throw CommandFailure(.other, name: "notUnderstood", "The agent's answer names no account.")
          }
          return account
        }
      }
    } catch {
      let known = (try? ProviderInfo.all(via: &agent).map(\.name)) ?? []
      throw error.explaining(provider: provider, known: known)
    }
  }

  private func read() throws(CommandFailure) -> SecretInput {
    let place = file ?? "-"
    // The argument may be the token itself, so the message does not repeat it.
    guard place == "-" || access(place, R_OK) == 0 else {
      throw .usage(
        "The argument after --import is not a file that can be read.",
        hints: [
          "Type the refresh token when asked, or pass it through stdin or a file; never as an argument."
        ])
    }
    return try SecretInput.line(of: place, question: "Refresh token for \(provider) (not shown): ")
  }
}
