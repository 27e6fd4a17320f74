import AgentCore
import CommandSupport
import JSONRPC

/// Completes the settings of `lanyard provider add`: asks on a terminal for what is missing, and otherwise names the
/// options.
struct ProviderQuestions {
  let server: FoundServer?
  let known: ProviderPreset?
  /// Questions are possible: a terminal, and no program that reads JSON.
  let canAsk: Bool
  /// Without a terminal a missing option is an error. Else only what the agent requires is.
  let isStrict: Bool

  /// The name of the provider.
  func name(given: String?) throws(CommandFailure) -> String {
    if let given { return given }
    let proposal = server?.proposedName ?? known?.name ?? "provider"
    return canAsk ? try answer("Name [\(proposal)]: ", default: proposal) ?? proposal : proposal
  }

  /// True if the issuer at another host is meant.
  func accepts(elsewhere server: FoundServer, option: String) throws(CommandFailure) {
    if canAsk, Terminal.confirm(Text.shown("That is another host than the one you named. Use \(server.issuer)?")) {
      return
    }
    throw .usage(
      "The documents at that URL name an issuer at another host, \(server.issuer). Nothing was changed.",
      hints: ["To use that issuer: `lanyard provider add \(option)\(server.issuer)`."])
  }

  func complete(
    _ settings: inout ProviderSettings, _ inputs: inout ProviderSettings.Inputs
  ) throws(CommandFailure) {
    try completeClient(&settings, inputs)
    let isRegistered = settings.clientID == nil && !inputs.further.has("clientId")
    if !isRegistered { try completeSecret(settings, &inputs) }
    if !isRegistered, known?.comparesRedirectPort == true, inputs.redirect == nil, !inputs.further.has("redirect") {
      try completeRedirect(&inputs)
    }
  }

  private func completeClient(
    _ settings: inout ProviderSettings, _ inputs: borrowing ProviderSettings.Inputs
  ) throws(CommandFailure) {
    guard let server, settings.clientID == nil, !inputs.further.has("clientId") else { return }
    let registration = known.flatMap { ClientRegistration(at: $0, redirect: inputs.redirect) }
    if canAsk {
      if !server.offersRegistration, let hint = registration?.hints.first { Output.note(Text.shown(hint)) }
      let question = server.offersRegistration ? "Client id (empty: register one): " : "Client id: "
      settings.clientID = try answer(question, default: nil)
    }
    guard settings.clientID == nil, !server.offersRegistration else { return }
    throw missing(
      "--client-id", "\(server.issuer) does not register clients by itself, so a client id is needed.",
      registration?.hints ?? ["Register a desktop client there, and add its id: --client-id ID."])
  }

  private func completeSecret(
    _ settings: ProviderSettings, _ inputs: inout ProviderSettings.Inputs
  ) throws(CommandFailure) {
    let isNeeded = known?.needsClientSecret == true
    // Not every server that takes public clients announces it.
    guard isNeeded || canAsk && server?.announcesPublicClients == false, inputs.secret.isEmpty, inputs.key.isEmpty,
      settings.authMethod != .some(.none),
      !inputs.further.has("clientSecret"), !inputs.further.has("clientKey")
    else { return }
    if canAsk {
      let secret = try SecretInput.ask("Client secret (not shown; empty for none): ")
      if !secret.isEmpty { inputs.secret = secret }
    } else if isStrict {
      throw missing(
        "--client-secret-file", "Clients of this server have a secret that the token request needs.",
        ["Give it in a file or a pipe: --client-secret-file FILE. For a client without one: --auth-method none."])
    }
  }

  private func completeRedirect(_ inputs: inout ProviderSettings.Inputs) throws(CommandFailure) {
    let host = known?.redirectHost
    let proposed = ClientRegistration.proposedPort
    if canAsk {
      Output.note("This server compares the port of the redirect URI, so a port must be registered there.")
      let text = try answer("Port [\(proposed)]: ", default: "\(proposed)") ?? ""
      guard let port = Int(text), 1...65_535 ~= port else {
        throw .usage("\(text) is not a port. Nothing was changed.")
      }
      inputs.redirect = RedirectAddress(host: host, port: port)
    } else if isStrict {
      throw missing(
        "--redirect", "This server compares the port of the redirect URI.",
        [
          "Register http://\(host ?? "127.0.0.1"):\(proposed)/callback there, and add --redirect \(proposed). "
            + "For sign-ins by device alone: --redirect 0."
        ])
    }
  }

  private func answer(_ question: String, default fallback: String?) throws(CommandFailure) -> String? {
    guard let line = Terminal.ask(question) else { throw Interruption.failure }
    let text = line.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }
      .reversed()
    return text.isEmpty ? fallback : String(text)
  }

  private func missing(_ option: String, _ reason: String, _ hints: [String]) -> CommandFailure {
    .usage("The option \(option) is missing. \(reason) Nothing was changed.", hints: hints)
  }
}
