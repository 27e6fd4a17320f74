import CommandSupport
import JSONRPC

/// The account of a provider of the kind `client`: a machine identity, for which no person signs in.
struct MachineAccount {
  let provider: String
  var alias: String?

  /// Performs the first exchange; returns the account.
  func add(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    do throws(CommandFailure) {
      return try agent.call("account.add") { writer in
        writer.member("provider", provider)
        writer.member("alias", alias)
      } result: { (result) throws(CommandFailure) in
        guard let account = result["account"]?.string else { throw CommandFailure.notUnderstood }
        return account
      }
    } catch {
      let asked = (try? ProviderInfo.named(provider, via: &agent)) ?? nil
      throw asked.map { error.naming($0) } ?? error
    }
  }
}
