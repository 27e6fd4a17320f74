import CommandSupport

/// The presets of `lanyard provider add`.
enum Presets {
  /// Presets with one issuer for all customers: they need only a client id.
  static let shared = ["github", "gitlab", "google"]
  static let ownIssuer = ["auth0", "entra", "keycloak", "okta"]
  static let all = (shared + ownIssuer).sorted()

  /// The command that adds a provider of this name.
  static func command(adding name: String) -> String {
    if shared.contains(name) { return "lanyard provider add --preset \(name) --client-id ID" }
    if ownIssuer.contains(name) { return "lanyard provider add --preset \(name) --issuer URL --client-id ID" }
    return "lanyard provider add \(name) --issuer URL --client-id ID"
  }

  /// Hints if no provider is configured.
  static let hints = [
    "Add one: `lanyard provider add --preset google --client-id ID`",
    "         (presets: \(all.joined(separator: ", "))),",
    "or any other: `\(command(adding: "NAME"))`.",
  ]
}

extension CommandFailure {
  /// Explains an unknown provider: suggests a similar name or the command that adds it.
  func explaining(provider name: String, known: [String]) -> CommandFailure {
    guard self.name == "providerNotFound" else { return self }
    var told = self
    told.message = "There is no provider \(name) here yet."
    told.hints = []
    if let meant = NearMiss.of(name, among: known) {
      told.hints.append("Did you mean `lanyard login \(meant)`?")
    } else if let meant = NearMiss.of(name, among: Presets.all), meant != name {
      told.hints.append("Did you mean \(meant)? Add it: `\(Presets.command(adding: meant))`.")
    } else {
      told.hints.append("Add it: `\(Presets.command(adding: name))`.")
      if !Presets.all.contains(name) { told.hints.append("Known by --preset: \(Presets.all.joined(separator: ", ")).") }
    }
    told.hints.append("`lanyard provider list` shows the providers.")
    return told
  }
}
