internal import AgentProtocol
internal import AgentUpkeep

extension WireSeverity {
  init(_ severity: Finding.Severity) { self = Self(rawValue: severity.rawValue)! }
}

extension WireSkippedKind {
  init(_ kind: SkippedItem.Kind) { self = Self(rawValue: kind.rawValue)! }
}

extension WireSkippedReason {
  init(_ reason: SkippedItem.Reason) { self = Self(rawValue: reason.rawValue)! }
}

extension WireSkippedItem {
  init(_ item: SkippedItem) {
    self.init(
      kind: WireSkippedKind(item.kind), name: item.name, account: item.account,
      reason: WireSkippedReason(item.reason))
  }
}

extension WireFinding {
  init(_ finding: Finding) {
    self.init(
      check: finding.check, severity: WireSeverity(finding.severity), subject: finding.subject,
      account: finding.account, message: finding.message, remedies: finding.remedies)
  }
}
