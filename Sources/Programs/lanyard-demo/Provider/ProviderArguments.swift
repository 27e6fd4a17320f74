import Foundation
import PracticeProvider
import UsageWords

/// The arguments of `lanyard-demo provider`.
struct ProviderArguments {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  var port: UInt16 = 0
  var path = ""
  var options = PracticeOptions()
  var wantsHelp = false
  var wantsGuises = false

  static let help = """
    lanyard-demo provider: an OpenID provider for practice, which fails on request

    Usage: lanyard-demo provider [OPTIONS]

    Prints the issuer on its first line and runs until SIGTERM or SIGINT (Ctrl-C).
    Listens on 127.0.0.1 only and keeps nothing when it ends.

    Options:
      --as NAME                   answer in the words, at the paths and with the
                                  habits of a real server: keycloak, entra, …;
                                  `--as list` lists them (docs/providers.md)
      --port N                    listen on this port (default: any free port)
      --path PATH                 the issuer's path: /realms/acme (default: none)
      --users FILE                people and clients from a JSON file (see below)
      --rotation MODE             how a used refresh token is treated: none,
                                  renewed (it stays valid beside the new one),
                                  grace (30 s) or strict (default: strict, where
                                  its second use ends the whole sign-in)
      --access-token-lifetime S   seconds (default: 300)
      --refresh-token-lifetime S  seconds since its last rotation (default: no
                                  limit)
      --algorithm NAME            RS256, RS512, ES256 or EdDSA (default: RS256)
      --opaque                    access tokens are random strings, not JWTs
      --metadata-only-in-rfc8414  announce the revocation, introspection and
                                  device endpoints in RFC 8414 metadata only
      --pushed-authorization M    off, offered or required (RFC 9126; default: off)
      --dpop POLICY               off, offered, required or nonce: tokens that are
                                  bound to a key (RFC 9449; default: off)
      --authorization-details P   off, granted, lessened, enriched or refused: what
                                  becomes of rights in detail (RFC 9396; default:
                                  off)
      --registration MODE         off, open or closed: dynamic client registration
                                  (default: off)
      --auto-approve USER         sign this person in without a page, for programs
                                  without a screen; login_hint selects another
      --help                      print this text

    People:   alice@acme, bob@globex, carol@acme, alice@globex; a password is the
              name.
    Clients:  lanyard-demo (public), confidential (secret: practice-secret). Both
              redirect to http://127.0.0.1:ANY/callback and the like.
    --users:  {"users": [{"name": "dora", "tenant": "initech", "password": "…",
                          "roles": ["technician"]}],
               "clients": [{"client_id": "my-app",
                            "redirect_uris": ["http://127.0.0.1/callback"]}]}
              A client may have a "client_secret", or a "public_key" as PEM for
              private_key_jwt.
    --as:     the options beside it count more. The clients have the secret
              practice-secret where those of the server have one. Scripts name
              the paths as they are without it: /token.
                curl -s ISSUER/practice/provider | lanyard provider add NAME --from -

    For scripts (POST needs Content-Type: application/json):
      POST   ISSUER/practice/faults    {"path":"/token","count":1,
                                        "effect":"dropAfterProcessing"}
                                       {"path":"/token","effect":"answer",
                                        "status":503,"delayMilliseconds":500,
                                        "headers":{"Retry-After":"2"}}
             effects: answer, answerAfterProcessing, dropBeforeProcessing,
                      dropAfterProcessing, hangBeforeProcessing,
                      hangAfterProcessing, endlessBody, hugeBody, truncatedBody,
                      notJSON, none, changeAnswer, changeIDToken, refusal
                                       {"path":"/token","effect":"refusal",
                                        "refusal":"rateLimit"}
             refusals: deadToken, disabledPerson, badClient, rateLimit
      DELETE ISSUER/practice/faults
      POST   ISSUER/practice/options   {"rotation":"grace",
                                        "accessTokenLifetimeSeconds":30}
      POST   ISSUER/practice/users     {"user":"alice","disabled":true}
      POST   ISSUER/practice/keys      {"algorithm":"ES256","keepOld":false}
      POST   ISSUER/practice/revoke    {"user":"alice"}
      POST   ISSUER/practice/sign-in   {"user":"alice","client_id":"lanyard-demo"}
                                       or {"everybody":true}
      POST   ISSUER/practice/device    {"user_code":"XXXX-XXXX","user":"alice"}
      POST   ISSUER/practice/reset
      GET    ISSUER/practice/requests  requests and answers, without tokens
      GET    ISSUER/practice/grants    the sign-ins: person and client
      GET    ISSUER/practice/provider  what `lanyard provider add --from` takes
    """

  init(_ arguments: [String]) throws {
    // The guise first: the other options count more than its habits.
    for isGuise in [true, false] {
      var rest = arguments[...]
      while let argument = rest.popFirst() {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        if parts.count == 2 && argument.hasPrefix("--") { rest.insert(parts[1], at: rest.startIndex) }
        let name = parts.count == 2 ? parts[0] : argument
        if (name == "--as") == isGuise { try take(name, &rest) } else if name == "--as" { _ = rest.popFirst() }
      }
    }
    guard options.guise == nil || path.isEmpty || path == options.guise?.path else {
      throw Problem(
        description: Mistake.invalidValue(path, of: "--path", because: "with --as, the path is that of the server"))
    }
    path = options.guise?.path ?? path
    if let name = options.autoApprove,
      !options.users.contains(where: { $0.name == name || "\($0.name)@\($0.tenant)" == name })
    {
      throw Problem(description: Mistake.invalidValue(name, of: "--auto-approve", because: "there is no such person"))
    }
  }

  private mutating func take(_ name: String, _ rest: inout ArraySlice<String>) throws {
    switch name {
    case "--help", "-h": wantsHelp = true
    case "--as": try wear(try Self.value(name, &rest) { $0 })
    case "--opaque": options.accessTokenFormat = .opaque
    case "--metadata-only-in-rfc8414": options.metadata = .onlyInRFC8414
    case "--port": port = try Self.value(name, &rest) { UInt16($0) }
    case "--path": path = try Self.value(name, &rest) { $0.hasPrefix("/") && !$0.hasSuffix("/") ? $0 : nil }
    case "--users": try readUsers(try Self.value(name, &rest) { $0 })
    case "--rotation": options.rotation = try Self.value(name, &rest) { RefreshTokenRotation(name: $0) }
    case "--access-token-lifetime": options.accessTokenLifetimeSeconds = try Self.value(name, &rest, Self.seconds)
    case "--refresh-token-lifetime": options.refreshTokenLifetimeSeconds = try Self.value(name, &rest, Self.seconds)
    case "--algorithm": options.signingAlgorithm = try Self.value(name, &rest) { SigningAlgorithm(rawValue: $0) }
    case "--pushed-authorization":
      options.pushedAuthorization = try Self.value(name, &rest) { PushedAuthorization(rawValue: $0) }
    case "--dpop": options.dpop = try Self.value(name, &rest) { DPoPPolicy(rawValue: $0) }
    case "--authorization-details":
      options.authorizationDetails = try Self.value(name, &rest) { AuthorizationDetailsPolicy(rawValue: $0) }
    case "--registration":
      options.registration = try Self.value(name, &rest) { ClientRegistrationPolicy(rawValue: $0) }
    case "--auto-approve": options.autoApprove = try Self.value(name, &rest) { $0 }
    default: throw Problem(description: Mistake.unknown(name))
    }
  }

  private mutating func wear(_ name: String) throws {
    if name == "list" {
      wantsGuises = true
      return
    }
    guard let guise = Guise.named(name) else {
      let reason = "`lanyard-demo provider --as list` lists the names"
      throw Problem(description: Mistake.invalidValue(name, of: "--as", because: reason))
    }
    try options.wear(guise)
  }

  private static func value<Value>(
    _ name: String,
    _ rest: inout ArraySlice<String>,
    _ parse: (String) -> Value?
  ) throws -> Value {
    guard let text = rest.popFirst() else { throw Problem(description: Mistake.missingValue(of: name)) }
    guard let value = parse(text) else { throw Problem(description: Mistake.invalidValue(text, of: name)) }
    return value
  }

  private static func seconds(_ text: String) -> Int? {
    Int(text).flatMap { (1...1_000_000_000).contains($0) ? $0 : nil }
  }

  private mutating func readUsers(_ path: String) throws {
    let data: Data
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      throw Problem(description: Mistake.invalidValue(path, of: "--users", because: "the file can't be read"))
    }
    do {
      try PracticeFile(data: data).apply(to: &options)
      options.dressClients()
    } catch {
      throw Problem(
        description: Mistake.invalidValue(
          path, of: "--users", because: "the file does not hold people and clients: \(error)"))
    }
  }
}
