import LoopbackHTTP

/// What the provider tells in its guise; without one, what it tells anyway.
extension ProviderContext {
  /// The path below the issuer, or nil if the request is for another path.
  func localPath(of path: String) -> String? {
    guard let guise = options.guise, !path.hasPrefix("/practice/") else { return issuer.localPath(of: path) }
    return guise.localPath(of: path, issuer)
  }

  func guiseDocument(at path: String) -> PracticeJSON? {
    options.guise?.documents[path].flatMap { $0.filled(with: places) }
  }

  func response(to error: OAuthError) -> HTTPResponse {
    guard let words = error.refusal.flatMap({ options.guise?.words(for: $0) }) else { return error.response }
    var response = HTTPResponse.json(words.body.filled(with: places) ?? [:], status: words.status)
    if case .string(let page) = words.body {
      response = HTTPResponse(status: words.status, body: Array(page.utf8))
    }
    response.headers += words.headers
    return response
  }

  /// The key set of these keys, the newest first.
  func keySet(_ keys: [PracticeJSON]) -> PracticeJSON {
    guard let guise = options.guise, let newest = keys.first else { return ["keys": .array(keys)] }
    var values = places
    values["modulus"] = newest["n"]
    values["key_id"] = newest["kid"]
    let dressed = keys.map { $0.changed(by: guise.key.changes(with: values)) }
    return ["keys": .array(guise.foreignKeys.compactMap { $0.filled(with: values) } + dressed)]
  }

  func idTokenClaims(_ claims: PracticeJSON, of grant: Grant) -> PracticeJSON {
    guard let guise = options.guise else { return claims }
    return claims.changed(by: guise.idToken.changes(with: values(of: grant)))
  }

  // MARK: Values

  private var places: GuiseValues {
    [
      "origin": .string(issuer.origin), "issuer": .string(issuer.identifier), "now": .integer(nowSeconds),
    ]
  }

  func values(of grant: Grant) -> GuiseValues {
    let user = options.owner(of: grant)
    let names = user.displayName.split(separator: " ").map(String.init)
    var values = places
    values["client_id"] = .string(grant.clientID)
    values["nonce"] = grant.nonce.map { .string($0) }
    values["session"] = .string(grant.sessionID)
    values["auth_time"] = .integer(grant.authTime)
    values["sub"] = .string(user.subject)
    // Where a server counts its people.
    values["number"] = .integer(Int64(Self.firstNumber + (grant.userIndex ?? options.users.count)))
    values["username"] = .string(user.name)
    values["name"] = .string(user.displayName)
    values["given_name"] = names.first.map { .string($0) }
    values["family_name"] = names.count > 1 ? names.last.map { .string($0) } : nil
    values["email"] = .string(user.email)
    values["tenant"] = .string(user.tenant)
    return values
  }

  private static let firstNumber = 41_001

  // MARK: The agent's configuration

  /// The parameters of `provider.add`, but for the name.
  var configuration: PracticeJSON {
    var members: [PracticeJSON.Member] = [.init("issuer", .string(issuer.identifier))]
    if options.registration != .open, let client = options.clients.first {
      members.append(.init("clientId", .string(client.id)))
      if let secret = client.secret { members.append(.init("clientSecret", .string(secret))) }
    }
    guard let guise = options.guise else { return .object(members) }
    // What the preset knows, the agent has from there.
    if let preset = guise.preset {
      members.append(.init("preset", .string(preset)))
    } else {
      members.append(.init("scopes", .strings(guise.scopes)))
      if guise.authentication.count == 1 {
        members.append(.init("tokenEndpointAuthMethod", .string(guise.authentication[0].rawValue)))
      }
    }
    if let identity = guise.identity {
      // The agent knows an account of a resource by the resource.
      members += [.init("identity", .string(identity)), .init("resources", .strings([issuer.origin + "/"]))]
    }
    let endpoints = guise.configured.compactMap { endpoint in
      guise.endpoints[endpoint].map { PracticeJSON.Member(endpoint.rawValue, .string(issuer.origin + $0)) }
    }
    if !endpoints.isEmpty { members.append(.init("endpoints", .object(endpoints))) }
    return .object(members)
  }
}

extension PracticeJSON {
  /// As changes of another object.
  fileprivate func changes(with values: GuiseValues) -> [String: PracticeJSON] {
    guard case .object(let members)? = filled(with: values) else { return [:] }
    return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
  }
}
