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

  @Option(name: .long, help: "The issuer's URL: https, or http on this machine.")
  var issuer: String?

  @Option(
    name: .customLong("client-id"),
    help: "The client id. Without it the agent registers itself, if the server allows that.")
  var clientID: String?

  @Option(
    name: .long, help: "A file with the client secret; - reads stdin.", completion: .file())
  var clientSecretFile: String?

  @Option(
    name: .customLong("client-key"),
    help: "A file with the client's private key for private_key_jwt: PEM or JWK; - reads stdin.",
    completion: .file())
  var clientKeyFile: String?

  @Option(name: .long, help: "How the client authenticates. Default: what the server announces.")
  var authMethod: AuthMethod?

  /// The names of OpenID Connect Core §9.
  enum AuthMethod: String, CaseIterable, ExpressibleByArgument {
    case none
    case clientSecretBasic = "client_secret_basic"
    case clientSecretPost = "client_secret_post"
    case privateKeyJWT = "private_key_jwt"
  }

  @Option(name: [.customShort("s"), .long], help: "A scope to request at sign-in; may be repeated.")
  var scope: [String] = []

  @Option(name: .long, help: "A resource to request at sign-in (RFC 8707); may be repeated.")
  var resource: [String] = []

  @Option(
    name: .long,
    help: "Settings of a known server: auth0, entra, github, gitlab, google, keycloak, okta."
  )
  var preset: String?

  @Option(name: .long, help: "The registered redirect address on this machine: [HOST:]PORT[/PATH].")
  var redirect: String?

  /// The server's reaction to a used refresh token.
  enum Reuse: String, CaseIterable, ExpressibleByArgument { case none, grace, strict }

  @Option(name: .long, help: "What happens to a used refresh token at this server; none: it stays valid.")
  var reuse: Reuse?

  @Option(name: .long, help: "With --reuse grace: how long a used refresh token stays valid.")
  var graceSeconds: Int?

  /// What a refresh with fewer scopes does at this server.
  enum Narrowing: String, CaseIterable, ExpressibleByArgument { case keeps, sticks, unknown }

  @Option(name: .long, help: "What a token with fewer scopes does to the others: the server keeps them, or it sticks.")
  var narrowing: Narrowing?

  /// Whether tokens are bound to a key of the account.
  enum DPoPUse: String, CaseIterable, ExpressibleByArgument { case off, auto, required }

  @Option(name: .long, help: "Bind tokens to a key of the agent (RFC 9449); auto: if the server offers it.")
  var dpop: DPoPUse?

  @Option(name: .long, help: "The claim of the ID token that names the tenant: tid, org_id, hd, …")
  var tenantClaim: String?

  @Option(name: .long, help: "The tenant of all accounts, if no claim names it.")
  var tenant: String?

  /// The effect of a revocation.
  enum RevocationScope: String, CaseIterable, ExpressibleByArgument { case token, family, grant }

  @Option(name: .long, help: "What a revocation at this server ends.")
  var revocationScope: RevocationScope?

  @Option(
    name: .customLong("post-logout-redirect-uri"),
    help: "The registered address for the browser after signing out there.")
  var postLogoutRedirectURI: String?

  @Option(name: .long, help: "An origin that may get this provider's tokens; may be repeated.")
  var allowedOrigin: [String] = []

  @Flag(name: .long, help: "Keep access tokens across restarts of the agent.")
  var persistAccessTokens = false

  @Option(
    name: .customLong("ca-file"), help: "A PEM file with the certificate authorities that count for this server.",
    completion: .file())
  var caFile: String?

  @Option(name: .long, help: "The proxy to this server, http://HOST:PORT; none for none.")
  var proxy: String?

  @Option(name: .long, help: "The policy of its accounts.")
  var policy: String?

  @Option(name: .long, help: "A JSON file with further settings; - reads stdin.", completion: .file())
  var from: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if name == nil, preset == nil { throw ValidationError("The provider's name is missing.") }
    if from == nil, preset == nil, issuer == nil { throw ValidationError("The provider's --issuer is missing.") }
    if tenantClaim != nil, tenant != nil { throw ValidationError("--tenant-claim and --tenant exclude each other.") }
    if graceSeconds != nil, reuse != .grace { throw ValidationError("--grace-seconds goes with --reuse grace.") }
    guard [from, clientSecretFile, clientKeyFile].count(where: { $0 == "-" }) <= 1 else {
      throw ValidationError("Only one of --client-secret-file, --client-key and --from can read stdin.")
    }
  }

  func run() throws {
    // Read all files before connecting, so that a mistake starts no agent.
    let redirect = try redirect.map { text throws(CommandFailure) in try RedirectAddress(text) }
    let secret =
      if let clientSecretFile {
        try SecretInput.line(of: clientSecretFile, question: "Client secret (not shown): ")
      } else {
        SecretInput(copying: "")
      }
    let key = if let clientKeyFile { try SecretInput.contents(of: clientKeyFile) } else { SecretInput(copying: "") }
    if clientKeyFile != nil, key.isEmpty { throw CommandFailure.usage("The key is empty. Nothing was added.") }
    let further = try ParameterFile(from)
    var agent = try common.connect()
    do throws(CommandFailure) {
      try add(secret, key, further, redirect, via: &agent)
    } catch {
      throw explained(error)
    }
  }

  private func add(
    _ secret: borrowing SecretInput, _ key: borrowing SecretInput, _ further: borrowing ParameterFile,
    _ redirect: RedirectAddress?, via agent: inout AgentConnection
  ) throws(CommandFailure) {
    let authorities = try caFile.map { path throws(CommandFailure) in try BackupPath.absolute(path) }
    try agent.call("provider.add") { writer in
      writer.member("name", name ?? preset)
      further.write(to: &writer)
      writer.member("issuer", issuer)
      writer.member("clientId", clientID)
      if !secret.isEmpty {
        writer.key("clientSecret")
        secret.withBytes { writer.string(utf8: $0) }
      }
      if !key.isEmpty {
        writer.key("clientKey")
        key.withBytes { writer.string(utf8: $0) }
      }
      writer.member("tokenEndpointAuthMethod", authMethod?.rawValue)
      writer.member("scopes", ifAny: scope.flatMap { $0.split(separator: " ").map(String.init) })
      writer.member("resources", ifAny: resource)
      writer.member("preset", preset)
      writer.member("allowedOrigins", ifAny: allowedOrigin)
      writer.member("revocationScope", revocationScope?.rawValue)
      writer.member("narrowing", narrowing?.rawValue)
      writer.member("dpop", dpop?.rawValue)
      writer.member("postLogoutRedirectUri", postLogoutRedirectURI)
      if persistAccessTokens { writer.member("persistAccessTokens", true) }
      writer.member("caFile", authorities)
      writer.member("proxy", proxy)
      writer.member("policy", policy)
      writeTenant(to: &writer)
      redirect?.write(to: &writer)
      writeRefreshRules(to: &writer)
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      let provider = ProviderInfo(result["provider"] ?? result)
      Output.answer(Text.shown("Added \(provider.name), \(provider.issuer)."))
      if clientID == nil, provider.isRegistered {
        Output.note(Text.shown("The agent registered itself there as \(provider.clientID)."))
      }
      if !provider.ignoredEndpoints.isEmpty {
        let names = provider.ignoredEndpoints.joined(separator: ", ")
        Output.note(
          Text.shown(
            "Not used, since the provider names plain HTTP or this machine for them: \(names). Ask its administrator."))
      }
      if Terminal.showsNotes { Output.note("Sign in: `lanyard login \(Text.shown(provider.name))`.") }
    }
  }

  private func writeTenant(to writer: inout JSONWriter) {
    guard tenantClaim != nil || tenant != nil else { return }
    writer.key("tenant")
    writer.beginObject()
    writer.member("claim", tenantClaim)
    writer.member("value", tenant)
    writer.endObject()
  }

  private func writeRefreshRules(to writer: inout JSONWriter) {
    guard let reuse else { return }
    writer.key("refresh")
    writer.beginObject()
    writer.member("reuse", reuse.rawValue)
    writer.member("graceSeconds", graceSeconds)
    writer.endObject()
  }
}
