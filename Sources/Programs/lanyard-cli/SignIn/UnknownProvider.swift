import CommandSupport

/// The servers that `provider.add` knows by name.
enum Presets {
  /// Where all customers share one issuer, a client id is all that must be said.
  static let shared = ["github", "gitlab", "google"]
  static let ownIssuer = ["auth0", "entra", "keycloak", "okta"]
  static let all = (shared + ownIssuer).sorted()

  /// How a provider of this name is added.
  static func command(adding name: String) -> String {
    if shared.contains(name) { return "lanyard provider add --preset \(name) --client-id ID" }
    if ownIssuer.contains(name) { return "lanyard provider add --preset \(name) --issuer URL --client-id ID" }
    return "lanyard provider add \(name) --issuer URL --client-id ID"
  }

  /// For who has no provider yet.
  static let hints = [
    "Add one: `lanyard provider add --preset google --client-id ID`",
    "         (presets: \(all.joined(separator: ", "))),",
    "or any other: `\(command(adding: "NAME"))`.",
  ]
}

extension CommandFailure {
  /// Signing in somewhere that was never configured: what to do about it.
  func explaining(provider name: String, known: [String]) -> CommandFailure {
    guard self.name == "providerNotFound" else { return self }
    var told = self
    told.message = "There is no provider \(name) here yet, so there is nowhere to sign in."
    told.hints = []
    if let meant = NearMiss.of(name, among: known) {
      told.hints.append("Did you mean `lanyard login \(meant)`?")
    } else if let meant = NearMiss.of(name, among: Presets.all), meant != name {
      told.hints.append("Did you mean \(meant)? Add it: `\(Presets.command(adding: meant))`.")
    } else {
      told.hints.append("Add it: `\(Presets.command(adding: name))`.")
      if !Presets.all.contains(name) { told.hints.append("Known by --preset: \(Presets.all.joined(separator: ", ")).") }
    }
    told.hints.append("`lanyard provider list` shows those that are there.")
    return told
  }
}
