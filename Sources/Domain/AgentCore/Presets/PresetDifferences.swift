public import AgentModel

/// What the preset of a provider says of sign-ins today and the provider's configuration does not: a provider keeps what
/// its preset said when it was added.
public struct PresetDifferences: Sendable, Equatable {
  /// The host of the redirect URI by the preset; nil if the configuration has the same host, one that a person
  /// chose, or a port that was registered with the host.
  public var redirectHost: String?
  /// The preset's parameters of the authorization request that the configuration does not have, ordered by name. One
  /// with another value is the person's choice.
  public var missingParameters: [Parameter] = []

  /// A further parameter of the authorization request.
  public struct Parameter: Sendable, Equatable {
    public var name: String
    public var value: String
  }

  public var isEmpty: Bool { redirectHost == nil && missingParameters.isEmpty }
}

extension ProviderConfiguration {
  /// Empty without a preset.
  public var presetDifferences: PresetDifferences {
    var differences = PresetDifferences()
    guard let preset = preset.flatMap(ProviderPreset.named) else { return differences }
    // Another host than the usual one is the person's choice.
    if redirect.port == nil, redirect.host == Redirect().host, redirect.host != preset.redirectHost {
      differences.redirectHost = preset.redirectHost
    }
    differences.missingParameters = preset.authorizationParameters
      .filter { authorizationParameters[$0.key] == nil }
      .sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
    return differences
  }
}
