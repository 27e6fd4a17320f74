internal import AgentModel
internal import CommandSupport
internal import JSONRPC
internal import MCPBridge

/// Finds or adds the provider of a resource.
struct ProviderSetup {
  let authorizer: Authorizer
  let metadata: ResourceMetadata
  let issuer: String

  private var options: Options { authorizer.options }
  private var link: AgentPool { authorizer.link }
  private var name: String {
    options.name
      ?? ProviderNaming.name(issuer: issuer, resource: metadata.resource, host: options.url.host)
  }

  func provider(challenged: [String]?) throws(BridgeFailure) -> ServerProvider {
    do throws(CommandFailure) {
      if let found = try existing() { return try withClient(found) }
      return try add(challenged)
    } catch {
      throw Self.failure(error, provider: name, options)
    }
  }

  /// The provider of this name, if it is of this issuer and for this resource.
  private func existing() throws(CommandFailure) -> ServerProvider? {
    let found: ServerProvider?
    do throws(CommandFailure) {
      found = try link.call("provider.get") {
        $0.member("provider", name)
      } result: { (result) throws(CommandFailure) in
        ServerProvider(result["provider"] ?? result)
      }
    } catch {
      guard error.name == "providerNotFound" else { throw error }
      return nil
    }
    guard let found, equalCodePoints(found.issuer, issuer), found.resources.contains(metadata.resource) else {
      throw CommandFailure(
        .other, name: "nameTaken", "The provider \(name) is for another server.",
        hints: ["Choose another name: `lanyard mcp \(options.urlText) --name NAME`."])
    }
    return found
  }

  /// The client that the person named belongs to this provider.
  private func withClient(_ provider: ServerProvider) throws(CommandFailure) -> ServerProvider {
    guard let client = options.clientID, client != provider.clientID else { return provider }
    try link.call("provider.update", isRepeatable: false) { writer in
      writer.member("provider", provider.name)
      writer.member("clientId", client)
    } result: { (_) throws(CommandFailure) in
    }
    return provider
  }

  private func add(_ challenged: [String]?) throws(CommandFailure) -> ServerProvider {
    let supported = try link.call("provider.discover") { writer in
      writer.member("url", issuer)
      writer.key("exact")
      writer.bool(true)
      writer.member("caFile", options.authorityFile)
      writer.member("proxy", options.proxy)
    } result: { (result) throws(CommandFailure) in
      guard result["pkce"]?.bool == true else {
        throw CommandFailure(
          .other, name: "pkceNotOffered",
          "The authorization server does not offer PKCE with S256, so signing in there would not be safe.")
      }
      return result["scopesSupported"]?.elements.compactMap(\.string) ?? []
    }
    let scopes = ScopeChoice.first(challenged: challenged, metadata: metadata.scopes, supported: supported)
    return try link.call("provider.add", isRepeatable: false) { writer in
      writer.member("name", name)
      writer.member("issuer", issuer)
      writer.member("clientId", options.clientID)
      writer.member("scopes", scopes)
      writer.member("resources", [metadata.resource])
      writer.member("allowedOrigins", [options.url.origin])
      writer.member("identity", "resource")
      writer.key("requirePkce")
      writer.bool(true)
      writer.member("caFile", options.authorityFile)
      writer.member("proxy", options.proxy)
    } result: { (result) throws(CommandFailure) in
      guard let provider = result["provider"].flatMap({ ServerProvider($0) }) else { throw .notUnderstood }
      return provider
    }
  }

  /// A failure on the way to a sign-in, and what the person can do.
  static func failure(_ failure: CommandFailure, provider: String, _ options: Options) -> BridgeFailure {
    var told = BridgeFailure(failure)
    let isAboutClient = failure.name == "invalidParams" || failure.name == "providerMisconfigured"
    if isAboutClient, options.clientID == nil, failure.name != "pkceNotOffered" {
      told.message += """
         If its operator gave you a client, name it: `lanyard mcp \(options.urlText) --client-id ID`. The provider is \
        \(provider).
        """
    }
    told.data.append(("provider", provider))
    return told
  }
}
