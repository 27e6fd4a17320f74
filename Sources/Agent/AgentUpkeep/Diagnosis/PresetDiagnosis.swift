internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentVault

/// Tells about providers that were added when their preset said something else (docs/providers.md, Presets).
extension VaultDiagnosis {
  func presets() -> Findings {
    var findings = Findings()
    for provider in vault.providerTable.sorted { findings.reportPreset(of: provider) }
    return findings
  }
}

extension Findings {
  /// Names the command that gives the provider what its preset says today.
  mutating func reportPreset(of provider: Provider) {
    let (configuration, differences) = (provider.configuration, provider.configuration.presetDifferences)
    guard !differences.isEmpty, let preset = provider.preset else { return }
    let redirect = configuration.redirect
    var facts: [String] = []
    var options: [String] = []
    var remedies: [String] = []
    if let host = differences.redirectHost {
      facts.append("the browser comes back to \(host), not to \(redirect.host)")
      // Port 0 is any port; a path that is not named would become the usual one. One that a shell would read otherwise
      // is left to the person.
      let isUsual = redirect.path == ProviderConfiguration.Redirect().path
      let path = isUsual ? "" : Self.isPlain(redirect.path) ? redirect.path : "/PATH"
      options.append("--redirect \(host):\(preset.comparesRedirectPort ? "PORT" : "0")\(path)")
      remedies.append("Register http://\(host)\(redirect.path) for the client at the provider.")
    }
    for parameter in differences.missingParameters {
      facts.append("sign-ins have \(parameter.name)=\(parameter.value)")
      options.append("--authorization-parameter \(parameter.name)=\(parameter.value)")
    }
    let name = configuration.name.text
    remedies.append("`lanyard provider update \(name) \(options.joined(separator: " "))` changes it.")
    notice(
      "providerPreset",
      "The provider \(name) differs from its preset \(preset.name): \(facts.joined(separator: "; ")).",
      remedies: remedies)
  }

  private static func isPlain(_ path: String) -> Bool {
    path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0)) }
  }
}
