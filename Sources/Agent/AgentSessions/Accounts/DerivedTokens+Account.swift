internal import AgentCore
internal import AgentModel
internal import AgentPorts
internal import AgentStore

extension DerivedTokens {
  /// Remembers the failure of an exchange and writes it to the log. Returns how long callers are told of it from memory.
  mutating func failed(
    _ key: Key, _ failure: ExchangeFailure, of account: isolated Account, logging message: StaticString
  ) -> Milliseconds {
    let jitter = account.dependencies.environment.entropy.fraction()
    account.dependencies.environment.log.log(
      .notice, message, [(.account, .hashed(account.id.text)), (.reason, .name(failure.kind.rawValue))])
    return failed(key, failure, at: account.clock.boot(), jitter: jitter)
  }
}
