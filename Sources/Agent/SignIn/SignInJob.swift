internal import AgentModel
internal import AgentPorts
internal import Secrets

/// A sign-in that a person is at: it holds no account's lock, and ends by itself.
struct SignInJob: Sendable {
  enum Status: Sendable {
    case pending
    case completed(AccountID)
    case failed(RPCError)
  }

  let id: String
  let provider: Provider
  let wishes: Wishes
  /// RFC 6749 §10.12, single use.
  let state: String
  /// OpenID Connect Core §3.1.2.1, single use.
  let nonce: String
  /// RFC 7636: proves at the token endpoint that who redeems the code is who asked for it.
  let verifier: Secret
  let scopes: [String]
  let expiresAt: BootInstant
  var listener: (any RedirectListener)?
  var redirectURI = ""
  var status = Status.pending
  /// An answer of the browser was taken; a second one is not.
  var isAnswered = false
  var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]

  /// What the person asked for.
  struct Wishes: Sendable {
    /// The account that is signed in again: nobody else may come back.
    var account: AccountID?
    var alias: Alias?
    var scopes: [String]?
    var prompt: String?
    var loginHint: String?
  }

  /// The URL that the browser opens (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1).
  func authorizationURL(endpoint: HTTPURL) -> String {
    let challenge = verifier.withBytes { Base64URL.encode(sha256($0)) }
    var items = [
      ("response_type", "code"), ("client_id", provider.configuration.clientID), ("redirect_uri", redirectURI),
      ("scope", scopes.joined(separator: " ")), ("state", state), ("nonce", nonce), ("code_challenge", challenge),
      ("code_challenge_method", "S256"),
    ]
    if let prompt = wishes.prompt { items.append(("prompt", prompt)) }
    if let hint = wishes.loginHint { items.append(("login_hint", hint)) }
    for resource in provider.configuration.resources { items.append(("resource", resource)) }  // RFC 8707 §2.1
    return endpoint.adding(items)
  }
}
