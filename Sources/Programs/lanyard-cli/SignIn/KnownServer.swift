/// A preset, as far as the command line speaks of it. Rendered from `Schemas/presets`.
struct KnownServer {
  let name: String
  let title: String
  /// Nil if each customer has an issuer of their own.
  let issuer: String?
  /// What such an issuer looks like.
  let issuerTemplate: String?
  /// False if it publishes no documents that could be asked.
  let hasDiscovery: Bool
  let redirectHost: String
  /// True if the port of the redirect URI has to be registered.
  let comparesRedirectPort: Bool
  /// True if the server registers clients, so that no client id is needed.
  let registersClients: Bool
  let needsClientSecret: Bool
  let suggestsDevice: Bool
  let takesResource: Bool
  let authorizationParameters: [String: String]
  /// Authorization parameters that a customer may need, and what each says.
  let parameterHints: [String: String]

  /// The issuer of a customer whose only own word is the host.
  func issuer(atHostOf url: String) -> String? {
    guard let template = issuerTemplate, let start = url.firstRange(of: "://")?.upperBound else { return nil }
    let host = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let issuer = template.replacing("HOST", with: host)
    let path = issuer.dropFirst("https://".count).drop { $0 != "/" }
    return path.contains(where: \.isUppercase) ? nil : issuer
  }

  static func named(_ name: String) -> KnownServer? { all.first { $0.name == name } }
}
