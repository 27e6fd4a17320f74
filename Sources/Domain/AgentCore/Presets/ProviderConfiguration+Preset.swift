public import AgentModel

/// What the preset of a configuration says of its requests.
extension ProviderConfiguration {
  private var knownPreset: ProviderPreset? { preset.flatMap(ProviderPreset.named) }

  /// False if the provider refuses a request that names a `resource` (RFC 8707).
  public var takesResource: Bool { knownPreset?.takesResource ?? true }

  /// The resource indicators of a sign-in, as far as the provider takes any.
  public var sentResources: [String] { takesResource ? resources : [] }
  /// The resource that the standard token is for, which each token request names: the only one that is configured. Nil
  /// with several, among which a token request could choose (RFC 8707 §2.2), and without one.
  public var standardResource: String? { sentResources.count == 1 ? sentResources[0] : nil }

  /// `prompt` of a sign-in by browser that names none.
  public var defaultPrompt: String? { knownPreset?.prompt }

  /// The further parameters of a device authorization request, ordered by name.
  public var deviceParameters: [(name: String, value: String)] {
    let others = knownPreset?.browserParameters ?? []
    return authorizationParameters.filter { !others.contains($0.key) }
      .sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}
