import CommandSupport
import Glibc
import JSONRPC

/// A refresh token that another program was given, on its way to the agent. It comes from a file, from stdin, or from a
/// person at a terminal who is not shown what is typed; never from the command line, which every process can read.
struct ImportedToken {
  let provider: String
  var alias: String?
  /// Nil or `-` for stdin or the terminal.
  var file: String?

  /// The id of the account that it became.
  func handOver(to agent: inout AgentConnection) throws(CommandFailure) -> String {
    let token = try read()
    do throws(CommandFailure) {
      return try agent.call("signIn.import") { writer in
        writer.member("provider", provider)
        writer.key("refreshToken")
        token.withBytes { writer.string(utf8: $0) }
        writer.member("alias", alias)
      } result: { (result) throws(CommandFailure) in
        guard let account = result["account"]?.string else {
          throw CommandFailure(.other, name: "notUnderstood", "The agent did not say who signed in.")
        }
        return account
      }
    } catch {
      let known = (try? ProviderInfo.all(over: &agent).map(\.name)) ?? []
      throw error.explaining(provider: provider, known: known)
    }
  }

  private func read() throws(CommandFailure) -> SecretInput {
    let place = file ?? "-"
    // Whoever gave the token itself where a file belongs does not want to see it once more.
    guard place == "-" || access(place, R_OK) == 0 else {
      throw .usage(
        "What was named after --import is no file that can be read.",
        hints: [
          "The refresh token itself is typed when asked for, or comes from stdin or a file; never as an argument."
        ])
    }
    return try SecretInput.line(of: place, question: "Refresh token for \(provider) (not shown): ")
  }
}
