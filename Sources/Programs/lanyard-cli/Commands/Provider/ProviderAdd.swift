import AgentCore
import AgentModel
import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider add`
struct ProviderAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a provider.",
    discussion: """
      From a URL of the server, lanyard finds the issuer, shows what it offers, and asks for the rest; without a \
      terminal it names the missing options.
      Settings without an option (endpoints, pins, error codes, …) go into a JSON file: --from FILE.

      EXAMPLES:
        lanyard provider add https://login.corp.example
        lanyard provider add corp https://login.corp.example --client-id my-app
        lanyard provider add --preset google --client-id my-app
        lanyard provider add idp --issuer https://idp.example --client-id my-app
        lanyard provider add idp --issuer https://idp.example
        lanyard provider add idp --issuer https://idp.example --client-id my-app \\
          -s openid -s offline_access --reuse grace --grace-seconds 60
        pass show idp/client | lanyard provider add idp --client-secret-file - \\
          --issuer https://idp.example --client-id my-app
        lanyard provider add idp --from idp.json
        lanyard provider add --preset openai
        lanyard provider add --preset gitea-token https://git.corp.example
        lanyard provider add keys --kind secret --allowed-origin https://api.example
        lanyard provider add robot --grant client-credentials \\
          --issuer https://idp.example --client-id robot --client-secret-file FILE
        lanyard provider add deploy --grant github-app --app-id 12345 \\
          --installation 67890 --client-key app.pem
      """)

  @Argument(
    help: ArgumentHelp(
      "A name for it: lower-case letters, digits, . _ -. Default: the preset, or a part of the host.", valueName: "name"
    ))
  var first: String?

  @Argument(help: ArgumentHelp("Any URL of the server: lanyard finds its issuer.", valueName: "url"))
  var second: String?

  /// What its accounts hold.
  enum Kind: String, CaseIterable, ExpressibleByArgument { case openid, secret, client }

  @Option(
    help:
      "secret: its accounts hold keys or passwords that a person was given; --from has the rest. client: its account is a machine."
  )
  var kind: Kind?

  @OptionGroup var machine: MachineOptions

  @OptionGroup var settings: ProviderSettings

  @OptionGroup var common: CommonOptions

  /// The URL among the arguments. A host alone counts as one where nothing else tells the issuer.
  private var url: String? {
    if let second { return second.contains("://") ? second : "https://" + second }
    guard let first else { return nil }
    if first.contains("://") { return first }
    let isHost = first.contains(".") && settings.issuer == nil && settings.preset == nil && settings.from == nil
    return isHost ? "https://" + first : nil
  }

  /// Its account is a machine.
  private var isMachine: Bool { kind == .client || machine.isGiven }

  private var name: String? { second == nil && url != nil ? nil : first }

  func validate() throws {
    if url != nil, settings.issuer != nil { throw ValidationError("Give a URL or --issuer, not both.") }
    if name == nil, url == nil, settings.preset == nil { throw ValidationError("The provider's name is missing.") }
    if machine.isGiven, kind ?? .client != .client {
      throw ValidationError("--grant and what goes with it are for --kind client.")
    }
    if settings.from == nil, settings.preset == nil, settings.issuer == nil, url == nil, kind != .secret,
      !machine.knowsServer
    {
      throw ValidationError("The provider's URL or --issuer is missing.")
    }
  }

  func run() throws {
    var settings = settings
    var inputs = try settings.readInputs()
    var agent = try common.connect()
    let canAsk = Terminal.canAsk && !common.json
    let asked = settings.preset.flatMap(ProviderPreset.named)
    // A service of keys has no documents: the URL names the customer's host.
    let isOfKeys = kind == .secret || asked?.kind == .secret
    if isOfKeys, settings.allowedOrigin.isEmpty, let origin = url.flatMap({ HTTPURL($0)?.origin }) {
      settings.allowedOrigin = [origin]
    }
    let server = try isOfKeys ? nil : url.map { url throws(CommandFailure) in try find(url, via: &agent) }
    let known = asked ?? server?.known
    let questions = ProviderQuestions(server: server, known: known, canAsk: canAsk, isStrict: server != nil)
    if let server {
      if Terminal.showsNotes, !common.json { server.tell() }
      if server.isElsewhere { try questions.accepts(elsewhere: server, option: name.map { $0 + " " } ?? "") }
      settings.issuer = server.issuer
      if !isMachine { settings.preset = settings.preset ?? server.known?.name }
    }
    let name = try questions.name(given: name ?? (server == nil ? settings.preset : nil))
    try questions.complete(&settings, &inputs)
    do throws(CommandFailure) {
      try add(name, settings, inputs, known: known, via: &agent)
    } catch {
      throw machine.explained(settings.explained(error, name: name))
    }
  }

  private func find(_ url: String, via agent: inout AgentConnection) throws(CommandFailure) -> FoundServer {
    if let known = settings.preset.flatMap(ProviderPreset.named), !known.hasDiscovery,
      let issuer = known.issuer ?? known.issuer(atHostOf: url)
    {
      return FoundServer(known, issuer: issuer)
    }
    let authorities = try settings.caFile.map { path throws(CommandFailure) in try BackupPath.absolute(path) }
    do throws(CommandFailure) {
      return try agent.call("provider.discover") { writer in
        writer.member("url", url)
        writer.member("caFile", authorities)
        writer.member("proxy", settings.proxy)
      } result: {
        FoundServer($0)
      }
    } catch {
      var told = error.naming(server: url)
      if error.problem?.path == "/url" {
        told.message = "\(url) is not the URL of a server: it begins with https://, or http:// on this machine."
        told.hints = []
      } else if error.name == "providerMisconfigured" {
        told.message = "At \(url) and above it there is no document that names an issuer. Nothing was changed."
        told.hints = [
          "Ask the server's administrator for the issuer: --issuer URL.",
          "`lanyard provider presets` lists the servers that are known.",
        ]
        if error.isOfPage {
          told.hints.insert(
            "A page for people answered there. If your network has a sign-in page: open any page in a browser, then try again.",
            at: 0)
        }
      }
      throw told
    }
  }

  private func add(
    _ name: String, _ settings: ProviderSettings, _ inputs: borrowing ProviderSettings.Inputs, known: ProviderPreset?,
    via agent: inout AgentConnection
  ) throws(CommandFailure) {
    try agent.call("provider.add") { writer in
      writer.member("name", name)
      if !inputs.further.has("kind") { writer.member("kind", (isMachine ? .client : kind)?.rawValue) }
      machine.write(to: &writer)
      settings.write(inputs, to: &writer)
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      let provider = ProviderInfo(result["provider"] ?? result)
      Output.done(Text.shown("Added \(provider.name), \(provider.issuer)."))
      if settings.clientID == nil, provider.isRegistered {
        Output.note(Text.shown("The agent registered itself there as \(provider.clientID)."))
      }
      provider.tellIgnoredEndpoints()
      guard Terminal.showsNotes else { return }
      if let typed = settings.issuer, typed != provider.issuer, !typed.contains("{") {
        Output.note(Text.shown("You gave \(typed); its document says \(provider.issuer), and that counts."))
      }
      if !provider.isRegistered, provider.kind == "openid" { tellRedirect(result["provider"]?["redirect"]) }
      let device = known?.suggestsDevice == true ? " --device" : ""
      let what = provider.kind == "client" ? "Add its account" : "Sign in"
      Output.note("\(what): `lanyard login \(Text.shown(provider.name))\(device)`.")
    }
  }

  /// The redirect URI that the client has to be registered with.
  private func tellRedirect(_ redirect: JSONNode?) {
    guard let redirect, let host = redirect["host"]?.string, let path = redirect["path"]?.string else { return }
    let port = redirect["port"]?.integer.map { ":\($0)" } ?? ""
    let any = port.isEmpty ? " (with any port)" : ""
    Output.note(Text.shown("Register the redirect URI http://\(host)\(port)\(path)\(any)."))
  }
}

extension ProviderInfo {
  /// Names the endpoints of the provider's documents that the agent does not use.
  func tellIgnoredEndpoints() {
    guard !ignoredEndpoints.isEmpty else { return }
    let names = ignoredEndpoints.joined(separator: ", ")
    Output.note(
      Text.shown(
        "Not used, since the provider names no whole https address for them, or this machine: \(names). "
          + "Ask its administrator."))
  }
}
