import Foundation
import PracticeProvider

/// The arguments of `lanyard-demo provider`.
struct ProviderArguments {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  var port: UInt16 = 0
  var path = ""
  var options = PracticeOptions()
  var wantsHelp = false

  static let help = """
    lanyard-demo provider: an OpenID provider on this machine that behaves like a real one,
    and misbehaves when it is told to

    Usage: lanyard-demo provider [OPTIONS]

    The first line of standard output is the issuer. It runs until SIGTERM or SIGINT (Ctrl-C).
    It listens on 127.0.0.1 only and forgets everything when it ends.

    Options:
      --port N                     listen on this port (default: any free one)
      --path PATH                  the issuer's path, as /realms/acme (default: none)
      --users FILE                 people and clients from a JSON file instead of the built-in ones:
                                   {"users": [{"name": "dora", "tenant": "initech", "password": "…",
                                               "roles": ["technician"]}],
                                    "clients": [{"client_id": "my-app",
                                                 "redirect_uris": ["http://127.0.0.1/callback"]}]}
      --rotation MODE              none, grace (30 s) or strict: what happens to a used refresh token
                                   (default: strict; its second use ends the whole sign-in)
      --access-token-lifetime S    seconds (default: 300)
      --refresh-token-lifetime S   seconds since its last rotation (default: no end)
      --algorithm NAME             RS256, RS512, ES256 or EdDSA (default: RS256)
      --opaque                     access tokens are random instead of JWTs
      --metadata-only-in-rfc8414   revocation, introspection and device endpoints are told only there
      --pushed-authorization MODE  off, offered or required (RFC 9126; default: off)
      --registration MODE          off, open or closed: clients register themselves (default: off)
      --auto-approve USER          sign this person in without a page, for programs without a screen;
                                   login_hint names another
      --help                       this text

    Built in: alice@acme, bob@globex, carol@acme, alice@globex; each password is the name.
    Clients:  lanyard-demo (public), confidential (secret: practice-secret), those of --users (with
              "client_secret", or "public_key" as PEM for private_key_jwt);
              redirects to http://127.0.0.1:ANY/callback and the like.

    Scripts (POST wants Content-Type: application/json):
      POST   ISSUER/practice/faults    {"path":"/token","effect":"dropAfterProcessing","count":1}
                                       {"path":"/token","effect":"answer","status":503,
                                        "headers":{"Retry-After":"2"},"delayMilliseconds":500}
             effects: answer, answerAfterProcessing, dropBeforeProcessing, dropAfterProcessing,
                      hangBeforeProcessing, hangAfterProcessing, endlessBody, hugeBody, truncatedBody,
                      notJSON, none, changeAnswer, changeIDToken
      DELETE ISSUER/practice/faults
      POST   ISSUER/practice/options   {"rotation":"grace","accessTokenLifetimeSeconds":30}
      POST   ISSUER/practice/users     {"user":"alice","disabled":true}
      POST   ISSUER/practice/keys      {"algorithm":"ES256","keepOld":false}
      POST   ISSUER/practice/revoke    {"user":"alice"}
      POST   ISSUER/practice/sign-in   {"user":"alice","client_id":"lanyard-demo"},
                                       or {"everybody":true}
      POST   ISSUER/practice/device    {"user_code":"XXXX-XXXX","user":"alice"}
      POST   ISSUER/practice/reset
      GET    ISSUER/practice/requests  what was asked and answered; never a token
      GET    ISSUER/practice/grants    who is signed in to what
    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      if parts.count == 2 && argument.hasPrefix("--") { rest.insert(parts[1], at: rest.startIndex) }
      try take(parts.count == 2 ? parts[0] : argument, &rest)
    }
    if let name = options.autoApprove,
      !options.users.contains(where: { $0.name == name || "\($0.name)@\($0.tenant)" == name })
    {
      throw Problem(description: "--auto-approve: nobody is called \(name)")
    }
  }

  private mutating func take(_ name: String, _ rest: inout ArraySlice<String>) throws {
    switch name {
    case "--help", "-h": wantsHelp = true
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
    case "--registration":
      options.registration = try Self.value(name, &rest) { ClientRegistrationPolicy(rawValue: $0) }
    case "--auto-approve": options.autoApprove = try Self.value(name, &rest) { $0 }
    default: throw Problem(description: "unknown option \(name)")
    }
  }

  private static func value<Value>(
    _ name: String,
    _ rest: inout ArraySlice<String>,
    _ parse: (String) -> Value?
  ) throws -> Value {
    guard let text = rest.popFirst() else { throw Problem(description: "\(name) needs a value") }
    guard let value = parse(text) else { throw Problem(description: "\(name): \(text) is not possible") }
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
      throw Problem(description: "--users: \(path) can't be read")
    }
    do {
      try PracticeFile(data: data).apply(to: &options)
    } catch {
      throw Problem(description: "--users: \(path) is not such a file: \(error)")
    }
  }
}
