import AgentCore
import ArgumentParser
import CommandSupport
import JSONRPC

/// The options of `lanyard provider add` and `lanyard provider update`.
struct ProviderSettings: ParsableArguments {
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
    help: ArgumentHelp(
      "Another parameter of the sign-in's address, as the server documents it; may be repeated.",
      valueName: "name=value"))
  var authorizationParameter: [String] = []

  @Option(
    name: .long,
    help: "Settings of a known server; `lanyard provider presets` lists them.",
    completion: .list(Presets.all))
  var preset: String?

  @Option(
    name: .long,
    help:
      "The redirect address that is registered for this client: [HOST:]PORT[/PATH]. Default: any free port of 127.0.0.1."
  )
  var redirect: String?

  /// The server's reaction to a used refresh token.
  enum Reuse: String, CaseIterable, ExpressibleByArgument { case none, grace, strict }

  @Option(name: .long, help: "What happens to a used refresh token at this server; none: it stays valid.")
  var reuse: Reuse?

  @Option(name: .long, help: "With --reuse grace: how long a used refresh token stays valid.")
  var graceSeconds: Int?

  /// What a refresh with fewer scopes does at this server.
  enum Narrowing: String, CaseIterable, ExpressibleByArgument { case keeps, sticks, unknown }

  @Option(
    name: .long,
    help: "After a token with fewer scopes: keeps if the account's other scopes stay, sticks if they are lost.")
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

  @Option(
    name: .long,
    help: "A header field or parameter that requests there may have beside plain ones; may be repeated.")
  var allowedField: [String] = []

  @Flag(name: .long, help: "Keep access tokens across restarts of the agent.")
  var persistAccessTokens = false

  @Flag(name: .customLong("require-pkce"), help: "Refuse a server whose metadata does not offer PKCE with S256.")
  var requirePKCE = false

  /// Who an account of this server is.
  enum Identity: String, CaseIterable, ExpressibleByArgument { case person, resource }

  @Option(
    name: .long,
    help:
      "resource: for a server that does not say who the person is; the account is the one that signs in for the resource."
  )
  var identity: Identity?

  @Option(
    name: .customLong("ca-file"), help: "A PEM file with the only certificate authorities that this server may use.",
    completion: .file())
  var caFile: String?

  @Option(name: .long, help: "The proxy to this server, http://HOST:PORT, or none to connect directly.")
  var proxy: String?

  @Option(name: .long, help: "The policy of its accounts.")
  var policy: String?

  @Option(name: .long, help: "A JSON file with further settings; - reads stdin.", completion: .file())
  var from: String?

  func validate() throws {
    if tenantClaim != nil, tenant != nil { throw ValidationError("Choose --tenant-claim or --tenant, not both.") }
    if graceSeconds != nil, reuse != .grace { throw ValidationError("--grace-seconds goes with --reuse grace.") }
    for text in authorizationParameter where !text.dropFirst().contains("=") || text.last == "=" {
      throw ValidationError("--authorization-parameter needs NAME=VALUE, not `\(Text.shown(text))`.")
    }
    guard [from, clientSecretFile, clientKeyFile].count(where: { $0 == "-" }) <= 1 else {
      throw ValidationError("Only one of --client-secret-file, --client-key and --from can read stdin.")
    }
  }

  /// The contents of the files and of stdin, read before connecting, so that a mistake starts no agent.
  struct Inputs: ~Copyable {
    var secret: SecretInput
    let key: SecretInput
    let further: ParameterFile
    var redirect: RedirectAddress?
    let authorities: String?
    /// Those that the provider has, and that stay beside the given ones.
    var authorizationParameters: [String: String] = [:]
  }

  func readInputs() throws(CommandFailure) -> Inputs {
    let redirect = try redirect.map { text throws(CommandFailure) in try RedirectAddress(text) }
    let secret =
      if let clientSecretFile {
        try SecretInput.line(of: clientSecretFile, question: "Client secret (not shown): ")
      } else {
        SecretInput(copying: "")
      }
    let key = if let clientKeyFile { try SecretInput.text(of: clientKeyFile) } else { SecretInput(copying: "") }
    if clientKeyFile != nil, key.isEmpty { throw CommandFailure.usage("The key is empty. Nothing was changed.") }
    let authorities = try caFile.map { path throws(CommandFailure) in try BackupPath.absolute(path) }
    return Inputs(
      secret: secret, key: key, further: try ParameterFile(from), redirect: redirect, authorities: authorities)
  }

  /// False if no option was given that changes a provider.
  func hasChanges(_ inputs: borrowing Inputs) -> Bool {
    var writer = JSONWriter()
    write(inputs, to: &writer)
    return writer.count > 0
  }

  /// Writes the members of the options that were given.
  func write(_ inputs: borrowing Inputs, to writer: inout JSONWriter) {
    inputs.further.write(to: &writer)
    writer.member("issuer", issuer)
    writer.member("clientId", clientID)
    if !inputs.secret.isEmpty {
      writer.key("clientSecret")
      inputs.secret.withBytes { writer.string(utf8: $0) }
    }
    if !inputs.key.isEmpty {
      writer.key("clientKey")
      inputs.key.withBytes { writer.string(utf8: $0) }
    }
    writer.member("tokenEndpointAuthMethod", authMethod?.rawValue)
    writer.member("scopes", ifAny: scope.flatMap { $0.split(separator: " ").map(String.init) })
    writer.member("resources", ifAny: resource)
    writer.member("preset", preset)
    writer.member("allowedOrigins", ifAny: allowedOrigin)
    writer.member("allowedFields", ifAny: allowedField)
    writer.member("revocationScope", revocationScope?.rawValue)
    writer.member("narrowing", narrowing?.rawValue)
    writer.member("dpop", dpop?.rawValue)
    writer.member("postLogoutRedirectUri", postLogoutRedirectURI)
    if persistAccessTokens { writer.member("persistAccessTokens", true) }
    if requirePKCE { writer.member("requirePkce", true) }
    writer.member("identity", identity?.rawValue)
    writer.member("caFile", inputs.authorities)
    writer.member("proxy", proxy)
    writer.member("policy", policy)
    writeAuthorizationParameters(beside: inputs.authorizationParameters, to: &writer)
    writeTenant(to: &writer)
    inputs.redirect?.write(to: &writer)
    writeRefreshRules(to: &writer)
  }

  private func writeTenant(to writer: inout JSONWriter) {
    guard tenantClaim != nil || tenant != nil else { return }
    writer.key("tenant")
    writer.beginObject()
    writer.member("claim", tenantClaim)
    writer.member("value", tenant)
    writer.endObject()
  }

  /// Those of the preset stay beside the given ones, or those that the provider has.
  private func writeAuthorizationParameters(beside known: [String: String], to writer: inout JSONWriter) {
    guard !authorizationParameter.isEmpty else { return }
    var parameters = preset.flatMap(ProviderPreset.named)?.authorizationParameters ?? known
    for text in authorizationParameter {
      let name = text.prefix { $0 != "=" }
      parameters[String(name)] = String(text.dropFirst(name.count + 1))
    }
    writer.key("authorizationParameters")
    writer.beginObject()
    for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
      writer.key(name)
      writer.string(value)
    }
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
