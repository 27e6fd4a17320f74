internal import AgentModel
internal import AgentOAuth
internal import AgentRecords

/// Tells about pins that say nothing any more, or soon (docs/tokens.md, Pins).
extension VaultDiagnosis {
  /// Long enough for a person to ask an administrator for the next key.
  private static let notice = Milliseconds.seconds(30 * 86_400)

  func pins() -> Findings {
    var findings = Findings()
    for provider in vault.providerTable.sorted where !provider.configuration.pins.isEmpty {
      let configuration = provider.configuration
      let (name, hosts) = (configuration.name, configuration.pins.keys.sorted().joined(separator: ", "))
      guard let end = configuration.pinsExpireAt else { continue }
      let now = vault.time.calendarTime(of: name)
      // As it was configured: a difference of the clocks would turn midnight into the day before.
      let day = end.rfc3339.prefix { $0 != "T" }
      let remedy = "`lanyard provider pin \(name.text) HOST --until DATE` moves the end."
      if now >= end {
        findings.notice(
          "providerPins",
          "The pins of the provider \(name.text) for \(hosts) ended on \(day): only the certificate authorities count.",
          remedy)
      } else if end - now <= Self.notice {
        findings.notice(
          "providerPins",
          "The pins of the provider \(name.text) for \(hosts) end on \(day). From then on only the certificate authorities count.",
          remedy)
      }
    }
    return findings
  }
}
