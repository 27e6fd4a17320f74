import CommandSupport

/// What the agent finds wrong is told in the words of the command line.
extension ProviderAdd {
  func explained(_ failure: CommandFailure) -> CommandFailure {
    guard let problem = failure.problem else { return failure }
    var told = failure
    if problem.path == "/issuer", issuer == nil, let preset {
      told.message = "Each customer of \(preset) has an issuer of their own: say --issuer URL."
      told.hints = ["Expected: \(problem.expected)."]
    } else if problem.path == "/preset", let preset {
      told.message = "There is no preset \(preset). Nothing was added."
      told.hints = ["Expected: \(problem.expected)."]
      if let meant = NearMiss.of(preset, among: Presets.all) { told.hints.insert("Did you mean \(meant)?", at: 0) }
    } else if problem.path == "/name", let name = name ?? preset {
      told.message = "A provider can't be added as \(name). Nothing was added."
      told.hints = [
        "Expected: \(problem.expected).", "`lanyard provider list` shows those that are there already.",
      ]
    } else if let option = Self.options.first(where: { problem.path.hasPrefix($0.path) })?.option {
      told.message = "\(option) is not as it should be. Nothing was added."
      told.hints = ["Expected: \(problem.expected)."]
    }
    return told
  }

  /// Which option is behind a parameter.
  private static let options: [(path: String, option: String)] = [
    ("/allowedOrigins", "--allowed-origin"), ("/clientId", "--client-id"),
    ("/clientKey", "--client-key-file"), ("/clientSecret", "--client-secret-file"), ("/issuer", "--issuer"),
    ("/policy", "--policy"),
    ("/postLogoutRedirectUri", "--post-logout-redirect-uri"), ("/redirect", "--redirect"),
    ("/refresh/graceSeconds", "--grace-seconds"), ("/resources", "--resource"), ("/scopes", "--scope"),
    ("/tenant", "--tenant"),
  ]
}
