internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentVault

/// The messages of what a provider, its documents or its certificate lack.
extension ProviderFailure {
  private static let byHand =
    "Register one there, as a native or desktop application with the redirect http://127.0.0.1/callback, and give its client id (--client-id)."

  var message: String {
    switch self {
    case .notFound: "There is no provider of this name. `provider.list` lists the providers."
    case .damaged:
      "The record of this provider can't be decrypted. Its accounts get no tokens until it is back; other accounts are not affected. Add the provider again under its name, or restore the store from a backup."
    case .fileGone(let path):
      "The administrator's file \(path), which describes this provider, is gone. Its accounts are kept and get no tokens until it is back: ask the administrator of this machine. `lanyard logout` signs them out."
    case .inUse:
      "Accounts still belong to this provider. Sign each out and forget it first, by `lanyard logout ACCOUNT` and `lanyard forget ACCOUNT`. Nothing was changed."
    case .document(let failure), .clientIDMissing(.document(let failure)): failure.message
    case .clientIDMissing(.notOffered): "This provider registers no programs by itself. " + Self.byHand
    case .registration(.offline(let failure)): DocumentFailure.offline(failure).message
    case .registration(.untrusted(let reason)): DocumentFailure.untrusted(reason).message
    case .registration(.unsuitable):
      "The provider registered the client with settings that this agent can't use. " + Self.byHand
    case .registration(.otherRedirects):
      "The provider registered the client with other redirect addresses than the one of this agent, so sign-ins would end elsewhere. Nothing was kept. "
        + Self.byHand
    case .registration(.redirected(let origin)):
      "The address at which the provider registers clients \(DocumentFailure.leads(to: origin)). Nothing was sent there. "
        + Self.byHand
    case .registration(.refused): "The provider does not let this agent register itself. " + Self.byHand
    case .registration(.answerLost), .registration(.unavailable):
      "The provider could not answer now. Nothing was changed; try again later."
    case .noAuthorities:
      "The file of authorities (`--ca-file`) can't be read, or has no certificate in PEM form. Nothing was sent or changed; name another file."
    case .noAuthorizationEndpoint: "This provider has no authorization endpoint."
    case .noSignInEndpoints(let ignored) where !ignored.isEmpty:
      "In the document of this provider \(ignored.map(\.found).joined(separator: ", and ")), which is no whole https address, so no sign-in is possible. Ask the administrator of the server, or give the endpoints by `provider.update`."
    case .noSignInEndpoints:
      "This provider has no authorization or token endpoint. Give them by `provider.update`."
    case .noPushEndpoint:
      "This provider takes only pushed authorization requests and names no endpoint for them. Give the endpoint by `provider.update`."
    case .pushEndpointGone:
      "This provider takes only pushed authorization requests, and the endpoint that it names for them does not exist. Give the endpoint by `provider.update`."
    case .redirectShared(let name, let other, let remedy):
      "The browser would come back from \(name.text) to \(remedy.place) \(other.text), and neither says in its answer whom it is from: one could pass for the other. Nothing was sent. \(remedy.hint(for: name))"
    case .pkceNotOffered:
      "The metadata of this provider does not list the PKCE method S256, which this provider is configured to require. Nothing was sent to its sign-in page; ask the administrator of the server."
    case .pushRefused(AuthorizationAnswer.authorizationDetailsRefused): AuthorizationDetails.refusal
    case .unsupportedDetails(let types):
      "The provider does not know authorization details of this type. It knows: \(types.prefix(8).map { ProviderRefusals.cleaned($0) }.joined(separator: ", "))\(types.count > 8 ? ", …" : ""). Nothing was sent to it; `lanyard login --details '[]'` asks for none."
    case .pushRefused:
      "The provider refuses this sign-in: the request does not match the registration of this client. Correct the provider's settings by `provider.update`."
    case .redirectNotLoopback: "The redirect host is not a loopback address. Correct it by `provider.update`."
    }
  }
}

extension RedirectRemedy {
  fileprivate var place: String {
    if case .noRedirect = self { "a path that is also taken by" } else { "the same path as from" }
  }

  fileprivate func hint(for name: ProviderName) -> String {
    switch self {
    case .redirect(let own):
      "Give \(name.text) a path of its own with `lanyard provider update \(name.text) --redirect \(own.host):\(own.port ?? 0)\(own.path)`, and register that redirect URI with its client. Or sign in with `--device`."
    case .newRegistration:
      "The agent registered its client with this path. Remove it with `lanyard provider remove \(name.text)` and add it again without `--redirect`, and its client gets a path of its own. Or sign in with `--device`."
    case .noRedirect:
      "No other path helps. Sign in with `--device`, or ask the administrator of \(name.text) to have its server name itself (`iss`, RFC 9207)."
    }
  }
}

extension AuthorizationDetails {
  /// The provider said `invalid_authorization_details` (RFC 9396 §5).
  static let refusal =
    "The provider does not take the authorization details that were asked for. Nothing was kept; ask for others, or for none: `lanyard login --details '[]'`."
}

extension DocumentFailure {
  /// What a redirect does that is not followed.
  static func leads(to origin: String?) -> String {
    guard let origin else { return "leads on by redirects that the agent does not follow" }
    let name = origin.utf8.count > 200 ? "with a very long name" : origin
    return "leads to another server, \(name), where the agent does not follow"
  }

  var message: String {
    switch self {
    case .offline(.proxy(let failure)): "\(failure.explanation) Nothing was changed."
    case .offline(.noLibrary(let library)): "\(library.missing) Nothing was changed."
    case .offline:
      "The provider can't be reached. Nothing was changed."
    case .untrusted(let reason): reason.message + " Nothing was changed."
    case .unavailable where isTemporary:
      "The provider could not answer now. Nothing was changed; try again later."
    case .issuerMismatch:
      "The document of this issuer names another issuer, so the agent does not use it. Give the issuer exactly as its document writes it, also with a slash at its end, or ask the administrator of the server."
    case .redirected(let origin):
      "The address of a document of this provider \(Self.leads(to: origin)). Nothing was sent there and nothing was changed; if that is the provider, give its address, or ask the administrator of the server."
    case .malformed: "What answered is no discovery document of this issuer. Check the issuer."
    case .page:
      "What answered is no discovery document of this issuer. Check the issuer. Or a sign-in page of the network answered instead of it: open any page in a browser, then try again."
    case .unavailable:
      "There is no discovery document of this issuer. Check the issuer, or give the endpoints yourself."
    }
  }
}

extension TrustFailure {
  var message: String {
    let what = "The provider could not be trusted: \(explanation)."
    return switch self {
    case .unknownAuthority:
      "\(what) A private authority is trusted once its file is named: `--ca-file FILE` when the provider is added, or later `lanyard provider update NAME --ca-file FILE`."
    case .wrongName, .tls: what
    case .expired:
      "\(what) It has expired, or this machine's clock is wrong."
    case .pinMismatch:
      "\(what) If its administrator confirms that the key was changed, set the new pins by `provider.update`."
    }
  }
}
