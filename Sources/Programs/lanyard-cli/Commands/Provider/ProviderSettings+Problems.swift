import AgentCore
import AgentModel
import CommandSupport

/// Puts a refused parameter into the words of the command line.
extension ProviderSettings {
  func explained(_ failure: CommandFailure, name: String?) -> CommandFailure {
    guard let problem = failure.problem else { return failure.naming(server: issuer) }
    var told = failure
    if problem.path == "/issuer", issuer == nil, let preset {
      told.message = "Each customer of \(preset) has its own issuer. Add --issuer URL."
      told.hints = ["Expected: \(problem.expectation)."]
    } else if problem.path == "/allowedOrigins", allowedOrigin.isEmpty, let preset {
      told.message = "Each customer of \(preset) has its own host. Add --allowed-origin URL."
      told.hints = ["Expected: \(problem.expectation)."]
    } else if problem.path == "/allowedOrigins", allowedOrigin.isEmpty {
      told.message = "The option --allowed-origin is missing. Nothing was changed."
      told.hints = ["Expected: \(problem.expectation)."]
    } else if problem.path == "/preset", let preset, ProviderPreset.named(preset) == nil {
      told.message = "There is no preset \(preset). Nothing was changed."
      told.hints = ["Expected: \(problem.expectation)."]
      if let meant = NearMiss.of(preset, among: Presets.all) { told.hints.insert("Did you mean \(meant)?", at: 0) }
    } else if problem.path == "/name", let name {
      told.message = "The name \(name) can't be used. Nothing was changed."
      told.hints = [
        "Expected: \(problem.expectation).", "`lanyard provider list` shows the names in use.",
      ]
    } else if problem.path == "/clientId", clientID == nil {
      told.message = "The option --client-id is missing. Nothing was changed."
      told.hints = registration?.hints ?? ["Expected: \(problem.expectation)."]
    } else if problem.path == "/clientSecret", clientSecretFile == nil {
      told.message = "--client-secret-file or --client-key is missing: a machine proves itself by one of them."
      told.hints = ["`lanyard help provider add` has examples."]
    } else if let option = Self.options.first(where: { problem.path.hasPrefix($0.path) })?.option {
      told.message = "The agent did not accept \(option). Nothing was changed."
      told.hints = ["Expected: \(problem.expectation)."]
    }
    return told
  }

  /// How a client is registered at the server of the preset.
  private var registration: ClientRegistration? {
    // A text that is no address was refused before the agent was asked.
    preset.flatMap(ProviderPreset.named).flatMap { known in
      ClientRegistration(at: known, redirect: redirect.flatMap { try? RedirectAddress($0) })
    }
  }

  /// The option of each parameter.
  private static let options: [(path: String, option: String)] = [
    ("/allowedFields", "--allowed-field"), ("/allowedOrigins", "--allowed-origin"),
    ("/authorizationParameters", "--authorization-parameter"),
    ("/clientId", "--client-id"),
    ("/clientKey", "--client-key"), ("/clientSecret", "--client-secret-file"), ("/issuer", "--issuer"),
    ("/caFile", "--ca-file"), ("/policy", "--policy"), ("/preset", "--preset"), ("/proxy", "--proxy"),
    ("/postLogoutRedirectUri", "--post-logout-redirect-uri"), ("/redirect", "--redirect"),
    ("/refresh/graceSeconds", "--grace-seconds"), ("/resources", "--resource"), ("/scopes", "--scope"),
    ("/tenant", "--tenant"),
  ]
}

extension CommandFailure {
  /// Names the server that a person typed: an address with a slip in it can't be told from one that is down.
  func naming(server url: String?) -> CommandFailure {
    guard let url, let origin = HTTPURL(url)?.origin else { return self }
    let host = String(origin.split(separator: "/").last ?? "")
    var told = self
    // It looks at the providers that are there.
    told.hints.removeAll { $0.contains("doctor --online") }
    switch name {
    case "offline" where !isOfThisSide:
      told.message = "\(host) can't be reached. Nothing was changed."
      told.hints = [
        "Check the address for a slip, then the network: `lanyard status` shows whether the agent is online."
      ]
    case "providerUnavailable": told.message = "\(host) does not answer now. Nothing was changed; try again later."
    case "untrustedServer": told.message = "\(host): \(message)"
    case "providerMisconfigured" where message.contains("of this issuer"):
      told.message = message.split(separator: "of this issuer").joined(separator: "of \(url)")
    default: break
    }
    return told
  }
}
