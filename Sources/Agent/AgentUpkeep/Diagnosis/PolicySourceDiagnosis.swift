internal import AgentCore
internal import AgentDecisions
internal import AgentModel

/// Tells whether the organisation's policies are in force (docs/policy-bundles.md).
extension PolicySourceStatus {
  var findings: Findings {
    var findings = Findings()
    guard let kept else { return findings }
    let failure = lastFailure.map { " \($0.refusal.sentence)" } ?? ""
    let wait = "The agent tries again by itself; `lanyard policy refresh` tries now."
    let ask = "If this goes on, ask the administrator of the policy source, and quote this message."
    guard let version = kept.version, let confirmedAt = kept.confirmedAt else {
      findings.problem(
        "policySource", "No policy bundle came from the policy source yet, so every decision is denied.\(failure)",
        subject: url, wait, ask)
      return findings
    }
    let day = confirmedAt.rfc3339
    if isTooOld {
      findings.problem(
        "policySource",
        "The policy source last confirmed version \(version) of the bundle at \(day), longer ago than `maxAgeSeconds` "
          + "allows: decisions under its policies are denied.\(failure)", subject: url, wait, ask)
    } else if lastFailure != nil {
      findings.notice(
        "policySource",
        "Version \(version) of the policy bundle is in force, confirmed at \(day). The last fetch failed.\(failure)",
        wait, ask)
    } else {
      findings.sound(
        "policySource", "Version \(version) of the policy bundle is in force, confirmed at \(day).", subject: url)
    }
    if maxAge < interval {
      findings.notice(
        "policySource",
        "`maxAgeSeconds` of `policySource` is below `intervalSeconds`: decisions are denied before each fetch.",
        "Raise `maxAgeSeconds` in the configuration file.")
    }
    return findings
  }
}
