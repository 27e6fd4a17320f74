import ArgumentParser
import CommandSupport

/// The hot verb. `lanyard` itself runs it when its words are plainly right (Sources/Programs/lanyard); this one has the help, and
/// the words for mistakes.
struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print an access token, alone.",
    discussion: """
      The agent refreshes it when needed; however many ask at once, the provider is asked once.

      EXAMPLES:
        curl -H "Authorization: Bearer $(lanyard token work)" https://api.example/me
        lanyard token -t 600            # good for ten minutes at least
        lanyard token --aud https://mail.example -s mail.read
      """)

  @Argument(help: "The account: an alias or an id.", completion: .accounts)
  var account: String?

  @Option(
    name: [.customShort("t"), .long],
    help: ArgumentHelp("How long the token must still live, at least.", valueName: "seconds"))
  var minimumLifetime: Int?

  @Option(name: [.customShort("s"), .long], help: "A scope to ask for; may be given again.")
  var scope: [String] = []

  @Option(name: .customLong("aud"), help: "The resource that the token is for (RFC 8707).")
  var resource: String?

  @Flag(name: [.customShort("f"), .long], help: "Ask the provider for a new one, even if the current one is good.")
  var force = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if let minimumLifetime, minimumLifetime < 0 { throw ValidationError("The lifetime can't be negative.") }
  }

  func run() throws {
    var request = TokenRequest()
    request.account = account
    request.option = common.account
    request.minimumLifetimeSeconds = minimumLifetime
    request.scopes = scope
    request.resource = resource
    request.forced = force
    request.json = common.json
    request.mayStart = !common.noStart
    try request.run()
  }
}
