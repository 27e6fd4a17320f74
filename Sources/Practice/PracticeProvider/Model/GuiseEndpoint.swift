/// An endpoint, under its name in `provider.add`.
enum GuiseEndpoint: String, CaseIterable, Sendable {
  case authorization, token, jwks, userinfo, revocation, introspection, deviceAuthorization, endSession, registration
  case pushedAuthorizationRequest

  /// Its path below the issuer where there is no guise.
  var localPath: String {
    switch self {
    case .authorization: "/authorize"
    case .token: "/token"
    case .jwks: "/jwks"
    case .userinfo: "/userinfo"
    case .revocation: "/revoke"
    case .introspection: "/introspect"
    case .deviceAuthorization: "/device_authorization"
    case .endSession: "/logout"
    case .registration: "/register"
    case .pushedAuthorizationRequest: "/par"
    }
  }
}

extension Guise {
  /// The path below the issuer of an endpoint at `path`; a document's path stays as it is. Nil where the server has
  /// nothing.
  func localPath(of path: String, _ issuer: Issuer) -> String? {
    if let endpoint = endpoints.first(where: { $0.value == path })?.key { return endpoint.localPath }
    if documents[path] != nil { return path }
    guard let local = issuer.localPath(of: path), !local.hasPrefix("/.well-known/"),
      !GuiseEndpoint.allCases.contains(where: { $0.localPath == local })
    else { return nil }
    return local
  }
}
