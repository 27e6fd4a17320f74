import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider update`
struct ProviderUpdate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Change settings of a provider.",
    discussion: """
      Settings without an option stay. A list (scopes, resources, origins) replaces the old one; authorization \
      parameters are added. After a change of the issuer or the client, the accounts have to sign in again.

      EXAMPLES:
        lanyard provider update idp --client-secret-file secret.txt
        lanyard provider update idp -s openid -s offline_access -s mail.read
        lanyard provider update idp --allowed-origin https://api.example
      """)

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @OptionGroup var settings: ProviderSettings

  @OptionGroup var common: CommonOptions

  func run() throws {
    var inputs = try settings.readInputs()
    guard settings.hasChanges(inputs) else {
      throw CommandFailure.usage(
        "No setting was named. Nothing was changed.", hints: ["`lanyard help provider update` lists the settings."])
    }
    var agent = try common.connect()
    do throws(CommandFailure) {
      if !settings.authorizationParameter.isEmpty, settings.preset == nil {
        inputs.authorizationParameters = try parameters(via: &agent)
      }
      try update(inputs, via: &agent)
    } catch {
      throw settings.explained(error, name: provider)
    }
  }

  /// The authorization parameters that the provider has.
  private func parameters(via agent: inout AgentConnection) throws(CommandFailure) -> [String: String] {
    try agent.call("provider.get") { writer in
      writer.member("provider", provider)
    } result: { result in
      let known = (result["provider"] ?? result)["authorizationParameters"]
      guard let known else { return [:] }
      return Dictionary(
        known.members.compactMap { name, value in name.string.flatMap { name in value.string.map { (name, $0) } } },
        uniquingKeysWith: { $1 })
    }
  }

  private func update(
    _ inputs: borrowing ProviderSettings.Inputs, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let before = common.json ? [] : try AccountInfo.all(via: &agent)
    try agent.call("provider.update") { writer in
      writer.member("provider", provider)
      settings.write(inputs, to: &writer)
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.done(Text.shown("Changed \(provider)."))
      ProviderInfo(result["provider"] ?? result).tellIgnoredEndpoints()
    }
    guard !common.json else { return }
    let waiting = Set(before.filter { $0.state == "interactionRequired" }.map(\.id))
    let fresh = try AccountInfo.all(via: &agent).filter {
      $0.provider == provider && $0.state == "interactionRequired" && !waiting.contains($0.id)
    }
    for account in fresh {
      Output.note(Text.shown("\(account.label) has to sign in again: `lanyard login --account \(account.label)`."))
    }
  }
}
