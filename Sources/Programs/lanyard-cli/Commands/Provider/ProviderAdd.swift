import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider add`
struct ProviderAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a provider.",
    discussion: """
      Settings without an option (endpoints, pins, error codes, …) go into a JSON file: --from FILE.

      EXAMPLES:
        lanyard provider add --preset google --client-id my-app
        lanyard provider add idp --issuer https://idp.example --client-id my-app
        lanyard provider add idp --issuer https://idp.example
        lanyard provider add idp --issuer https://idp.example --client-id my-app \\
          -s openid -s offline_access --reuse grace --grace-seconds 60
        pass show idp/client | lanyard provider add idp --client-secret-file - \\
          --issuer https://idp.example --client-id my-app
        lanyard provider add idp --from idp.json
      """)

  @Argument(help: "A name for it: lower-case letters, digits, . _ -. Default: the preset.")
  var name: String?

  @OptionGroup var settings: ProviderSettings

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if name == nil, settings.preset == nil { throw ValidationError("The provider's name is missing.") }
    if settings.from == nil, settings.preset == nil, settings.issuer == nil {
      throw ValidationError("The provider's --issuer is missing.")
    }
  }

  func run() throws {
    let inputs = try settings.readInputs()
    var agent = try common.connect()
    do throws(CommandFailure) {
      try add(inputs, via: &agent)
    } catch {
      throw settings.explained(error, name: name ?? settings.preset)
    }
  }

  private func add(
    _ inputs: borrowing ProviderSettings.Inputs, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    try agent.call("provider.add") { writer in
      writer.member("name", name ?? settings.preset)
      settings.write(inputs, to: &writer)
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      let provider = ProviderInfo(result["provider"] ?? result)
      Output.answer(Text.shown("Added \(provider.name), \(provider.issuer)."))
      if settings.clientID == nil, provider.isRegistered {
        Output.note(Text.shown("The agent registered itself there as \(provider.clientID)."))
      }
      provider.tellIgnoredEndpoints()
      if Terminal.showsNotes { Output.note("Sign in: `lanyard login \(Text.shown(provider.name))`.") }
    }
  }
}

extension ProviderInfo {
  /// Names the endpoints of the provider's documents that the agent does not use.
  func tellIgnoredEndpoints() {
    guard !ignoredEndpoints.isEmpty else { return }
    let names = ignoredEndpoints.joined(separator: ", ")
    Output.note(
      Text.shown(
        "Not used, since the provider names plain HTTP or this machine for them: \(names). Ask its administrator."))
  }
}
