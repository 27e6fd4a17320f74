import AgentCore
import AgentModel
import CommandSupport

/// The presets of `lanyard provider add`.
enum Presets {
  static let all = ProviderPreset.all.map(\.name)
  /// Those that a hint names; a list of all would fill the screen.
  private static let wellKnown = ["auth0", "entra", "github", "gitlab", "google", "keycloak", "okta"]
  static let listed = "Known by --preset: \(wellKnown.joined(separator: ", "))."
  static let others = "`lanyard provider presets` lists the others."

  /// The command that adds a provider of this name.
  static func command(adding name: String) -> String {
    guard let server = ProviderPreset.named(name) else {
      return "lanyard provider add \(name) --issuer URL --client-id ID"
    }
    guard server.kind == .openid else {
      let origin = server.catalogue?.needsOrigin == true ? " --allowed-origin URL" : ""
      return "lanyard provider add --preset \(name)\(origin)"
    }
    // With one issuer for all customers the client id is enough.
    let issuer = server.issuer == nil ? " --issuer URL" : ""
    let client = server.registersClients ? "" : " --client-id ID"
    return "lanyard provider add --preset \(name)\(issuer)\(client)"
  }

  /// Hints if no provider is configured.
  static let hints = [
    "Add one: `lanyard provider add --preset google --client-id ID`",
    listed,
    others,
    "Add any other: `\(command(adding: "NAME"))`.",
    "For a service with keys no client is needed: `lanyard login openai`",
    "To try Lanyard first, with a practice provider: `lanyard demo`",
  ]
}

extension CommandFailure {
  /// Explains an unknown provider: suggests a similar name or the command that adds it.
  /// - Parameter isAccount: the name is that of an account, which the person may want to sign in again.
  func explaining(provider name: String, known: [String], isAccount: Bool = false) -> CommandFailure {
    guard self.name == "providerNotFound" else { return self }
    var told = self
    told.message = "There is no provider \(name) here."
    told.hints = []
    if isAccount {
      let word = ErrorMessages.shellWord(name)
      told.hints.append("An account has that name. Sign it in again: `lanyard login --account \(word)`.")
    } else if let meant = NearMiss.of(name, among: known) {
      told.hints.append("Did you mean `lanyard login \(meant)`?")
    } else if let meant = NearMiss.of(name, among: Presets.all), meant != name {
      told.hints.append("Did you mean \(meant)? Add it: `\(Presets.command(adding: meant))`.")
    } else {
      told.hints.append("Add it: `\(Presets.command(adding: name))`.")
      if !Presets.all.contains(name) { told.hints += [Presets.listed, Presets.others] }
    }
    told.hints.append("`lanyard provider list` shows the providers.")
    return told
  }
}
