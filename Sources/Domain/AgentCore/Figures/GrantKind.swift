/// What a token endpoint was asked for, beside refreshes of accounts, as a label of figures (docs/metrics.md).
public enum GrantKind: String, CaseIterable, Hashable, Sendable {
  /// A code of the browser or of a device.
  case signIn
  /// The first refresh with a refresh token from elsewhere.
  case `import`
  /// A token for another one (RFC 8693).
  case tokenExchange
}
