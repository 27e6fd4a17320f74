import CommandSupport
import JSONRPC

/// What the text of an operation needs of its account: how commands name it, what its provider lists, and its time.
struct OperationOwner {
  /// Nil if the account can't be read.
  let account: AccountInfo?
  /// Nil if the provider can't be read.
  let allowance: ProviderAllowance?
  /// The time of the provider.
  let now: Moment

  init(of selector: String, via agent: inout AgentConnection) {
    account = try? AccountInfo.named(selector, via: &agent)
    allowance = account.flatMap { ProviderAllowance(of: $0.provider, via: &agent) }
    now = SessionInfo.now(of: selector, via: &agent)
  }
}
