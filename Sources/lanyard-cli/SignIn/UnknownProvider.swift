import CommandSupport

extension CommandFailure {
  /// Signing in somewhere that was never configured: what to do about it.
  func explaining(provider name: String) -> CommandFailure {
    guard self.name == "providerNotFound" else { return self }
    var told = self
    told.message = "There is no provider \(name) here yet, so there is nowhere to sign in."
    told.hints = ["Add it: `\(Self.command(adding: name))`.", "`lanyard provider list` shows those that are there."]
    return told
  }

  /// Servers that are the same for everybody need no address.
  private static func command(adding name: String) -> String {
    switch name {
    case "github", "gitlab", "google": "lanyard provider add --preset \(name) --client-id ID"
    case "auth0", "entra", "keycloak", "okta": "lanyard provider add --preset \(name) --issuer URL --client-id ID"
    default: "lanyard provider add \(name) --issuer URL --client-id ID"
    }
  }
}
