internal import AgentCore
internal import AgentDecisions
internal import AgentModel
internal import AgentProtocol

extension WirePolicySource {
  init(_ status: PolicySourceStatus) {
    self.init(
      url: status.url, intervalSeconds: Int(status.interval.wholeSeconds),
      maxAgeSeconds: Int(status.maxAge.wholeSeconds), agent: status.kept?.agent,
      version: status.kept?.version.map { Int($0) }, policies: status.kept?.policies, shadows: status.kept?.shadows,
      confirmedAt: status.kept?.confirmedAt, tooOld: status.isTooOld, nextFetchAt: status.nextFetchAt,
      lastFailure: status.lastFailure.map {
        WirePolicySourceFailure(reason: $0.refusal.word, message: $0.refusal.sentence, at: $0.at)
      })
  }
}
