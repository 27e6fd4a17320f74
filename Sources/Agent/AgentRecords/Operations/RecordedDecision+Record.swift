internal import AgentCore
internal import AgentModel
internal import AgentStore
internal import JSONRPC
internal import SecretJSON

/// A decision as it is kept with a queued operation.
extension RecordedDecision {
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("account", account.text)
    writer.member("validUntil", validUntil?.milliseconds)
    writer.member("now", now.milliseconds)
    writer.member("basis", basis.rawValue)
    if clock == .suspect { writer.member("suspect", 1) }
    writer.member("capability", decision.capability)
    writer.member("effect", decision.effect.rawValue)
    writer.member("reason", decision.reason.rawValue)
    writer.member("obligations", decision.obligations)
    writer.member("remedies", decision.remedies.map(\.rawValue))
    writer.member("validFor", decision.validFor?.count)
    writer.member("policy", decision.policyName)
    writer.member("policyVersion", decision.policyVersion)
    writer.member("snapshotVersion", Int64(clamping: decision.snapshotVersion))
    writer.key("failed")
    writer.beginArray()
    for failure in decision.failed {
      writer.beginObject()
      writer.member("check", failure.check.rawValue)
      writer.member("reason", failure.reason.rawValue)
      writer.key("facts")
      failure.writeFacts(to: &writer)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }

  init?(_ node: JSONNode) {
    guard let id = node["id"]?.string, let account = node["account"]?.string.flatMap({ AccountID($0) }),
      let now = node["now"]?.timestamp, let basis = node["basis"]?.string.flatMap({ TimeBasis(rawValue: $0) }),
      let capability = node["capability"]?.string,
      let effect = node["effect"]?.string.flatMap({ Decision.Effect(rawValue: $0) }),
      let reason = node["reason"]?.string.flatMap({ Decision.Reason(rawValue: $0) })
    else { return nil }
    let failed = (node["failed"].map { Array($0.elements) } ?? []).compactMap { Decision.Failure($0) }
    let decision = Decision(
      capability: capability, effect: effect, reason: reason, failed: failed,
      obligations: node["obligations"]?.strings ?? [],
      remedies: (node["remedies"]?.strings ?? []).compactMap { Decision.Remedy(rawValue: $0) },
      validFor: node["validFor"]?.integer.map { Milliseconds($0) }, policyName: node["policy"]?.string ?? "",
      policyVersion: node["policyVersion"]?.integer ?? 0,
      snapshotVersion: UInt64(clamping: node["snapshotVersion"]?.integer ?? 0))
    self.init(
      id: id, account: account, decision: decision, validUntil: node["validUntil"]?.timestamp, now: now, basis: basis,
      clock: node["suspect"] == nil ? .trusted : .suspect)
  }
}

extension Decision.Failure {
  fileprivate init?(_ node: JSONNode) {
    guard let check = node["check"]?.string.flatMap({ Decision.Check(rawValue: $0) }),
      let reason = node["reason"]?.string.flatMap({ Decision.Reason(rawValue: $0) })
    else { return nil }
    var facts: [String: Decision.Fact] = [:]
    for (key, value) in node.members(of: "facts") {
      guard let name = key.string else { continue }
      if let seconds = value.integer {
        facts[name] = .seconds(seconds)
      } else if let word = value.string {
        facts[name] = .word(word)
      } else if let words = value.strings {
        facts[name] = .words(words)
      }
    }
    self.init(check, reason, facts)
  }
}
