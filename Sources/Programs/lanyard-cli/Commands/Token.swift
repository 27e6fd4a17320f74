import ArgumentParser
import CommandSupport

/// `lanyard token`
///
/// The program `lanyard` runs this command itself if it understands all arguments (`TokenRequest+Arguments.swift`).
/// This type prints the help and reports mistakes.
struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print an access token, or the ID token.",
    discussion: """
      The agent refreshes the token when needed. Many programs that ask at once cause one request to the provider.

      EXAMPLES:
        curl -H "Authorization: Bearer $(lanyard token work)" https://api.example/me
        lanyard token -t 600            # valid for at least ten minutes
        lanyard token --aud https://mail.example -s mail.read
        lanyard token --timeout 5       # give up after five seconds
        lanyard token --id              # who the person is, for kubectl and others
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @Option(
    name: [.customShort("t"), .long],
    help: ArgumentHelp("The token must be valid for at least this long.", valueName: "seconds"))
  var minimumLifetime: Int?

  @Option(name: [.customShort("s"), .long], help: "A scope to request; may be repeated.")
  var scope: [String] = []

  @Option(name: .customLong("aud"), help: "The resource that the token is for (RFC 8707).")
  var resource: String?

  @Flag(name: [.customShort("f"), .long], help: "Get a new token from the provider, even if the current one is valid.")
  var force = false

  @Flag(name: .customLong("id"), help: "Print the ID token, which proves who the person is (OpenID Connect).")
  var identity = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long the agent may take. Default: 20 where the provider does not answer.", valueName: "seconds"))
  var timeout: Int?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if identity, force || !scope.isEmpty || resource != nil {
      throw ValidationError(
        "An ID token has no scopes and no resource, and the agent renews it when needed: use --id without -s, --aud and --force."
      )
    }
    if let minimumLifetime, minimumLifetime < 0 { throw ValidationError("The lifetime can't be negative.") }
    if let timeout, !(0...TokenRequest.longestTimeoutSeconds).contains(timeout) {
      throw ValidationError("--timeout is 0 to \(TokenRequest.longestTimeoutSeconds) seconds.")
    }
  }

  func run() throws {
    var request = TokenRequest()
    request.account = account
    request.option = common.account
    request.minimumLifetimeSeconds = minimumLifetime
    request.scopes = scope
    request.resource = resource
    request.forced = force
    request.identity = identity
    request.timeoutSeconds = timeout
    request.json = common.json
    request.mayStart = !common.noStart
    try request.run()
  }
}
