package import AgentCore
package import AgentModel
package import AgentStore

/// Presets in `provider.add` and `provider.update`: what was said explicitly wins.
extension ProviderPreset {
  /// The preset that was asked for; the error tells what lists them.
  ///
  /// - Parameter kind: of the provider; nil: the preset's.
  package static func asked(_ name: String, of kind: AccountKind?) throws(AgentFailure) -> ProviderPreset {
    guard let preset = named(name) else {
      throw .invalidParameter("/preset", expected: "a name that `lanyard provider presets` lists")
    }
    if let kind, kind != preset.kind {
      throw .invalidParameter("/preset", expected: "one of the kind \(kind.rawValue), not \(preset.kind.rawValue)")
    }
    return preset
  }

  /// The issuer that was given, or the one that all customers of the preset share.
  package static func issuer(_ given: String?, of preset: ProviderPreset?) throws(AgentFailure) -> String {
    if let issuer = given ?? preset?.issuer { return issuer }
    let looks = preset?.issuerTemplate.map { ", which looks like \($0)" } ?? ""
    throw .invalidParameter("/issuer", expected: "the provider's issuer" + looks)
  }
}

extension ProviderConfiguration {
  /// The endpoints and the tenant's claim that nothing was said of.
  package mutating func complete(from preset: ProviderPreset, tenantClaim: String?) {
    endpoints = endpoints.completed(from: preset.endpoints(at: issuer))
    if tenantClaim == nil {
      authorization.tenantClaim = preset.tenantClaim
    } else if tenant == preset.tenant {
      tenant = nil  // the claim that was named, and not the preset's
    }
  }

  /// The issuer is another one now: endpoints that came from a preset belonged to the old one.
  package mutating func forgetPresetEndpoints(of before: ProviderConfiguration) {
    guard let preset = before.preset.flatMap(ProviderPreset.named),
      before.endpoints == preset.endpoints(at: before.issuer)
    else { return }
    endpoints = .init()
  }
}
