/// A preset, as far as the command line speaks of it. Rendered from `Schemas/presets`.
struct KnownServer {
  let name: String
  let title: String
  /// Nil if each customer has an issuer of their own.
  let issuer: String?
  /// What such an issuer looks like.
  let issuerTemplate: String?
  let redirectHost: String
  /// True if the port of the redirect URI has to be registered.
  let comparesRedirectPort: Bool
  let needsClientSecret: Bool
  let suggestsDevice: Bool
  let takesResource: Bool
  let authorizationParameters: [String: String]
  /// Authorization parameters that a customer may need, and what each says.
  let parameterHints: [String: String]

  static func named(_ name: String) -> KnownServer? { all.first { $0.name == name } }
}
