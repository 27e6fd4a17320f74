public import AgentModel

/// The token that answers a request for certain scopes (docs/tokens.md, Scopes and audiences).
public enum ScopeRequest: Hashable, Sendable {
  /// The token for all granted scopes.
  case standard
  /// A token of its own, for these scopes.
  case own(ScopeSet)
  /// The provider might take the other scopes away from the grant, and the caller wants no other scopes.
  case wouldNarrow

  /// - Parameters:
  ///   - isNarrowed: the grant lost scopes: what a request does not spell out may be more than `granted`.
  ///   - exactly: the caller wants a token with no other scopes.
  public static func of(
    _ scopes: ScopeSet, granted: ScopeSet, isNarrowed: Bool, exactly: Bool,
    at narrowing: ProviderConfiguration.Narrowing
  ) -> ScopeRequest {
    if scopes.isEmpty || scopes == granted && !isNarrowed { return .standard }
    if narrowing == .keeps { return .own(scopes) }
    if scopes == granted { return .standard }
    if granted.isSubset(of: scopes) { return .own(scopes) }
    if exactly { return .wouldNarrow }
    // Ask for more, but never for less than the grant has.
    return scopes.isSubset(of: granted) ? .standard : .own(ScopeSet(scopes.names + granted.names))
  }

  /// The token of a caller that may have no scopes beside `limit`: exactly the ones that it wants, or all that are
  /// granted within the limit. Nil if none is.
  public static func of(
    _ scopes: ScopeSet?, within limit: Set<String>, granted: ScopeSet, isNarrowed: Bool,
    at narrowing: ProviderConfiguration.Narrowing
  ) -> ScopeRequest? {
    var wanted = ScopeSet((scopes?.names ?? []).filter(limit.contains))
    if wanted.isEmpty { wanted = ScopeSet(granted.names.filter(limit.contains)) }
    guard !wanted.isEmpty else { return nil }
    return of(wanted, granted: granted, isNarrowed: isNarrowed, exactly: true, at: narrowing)
  }
}
