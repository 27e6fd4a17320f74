import LoopbackHTTP

/// `/practice/…`: scripts the provider from another program. The functions of `PracticeProvider+Scripting.swift`, in
/// JSON.
extension ProviderState {
  struct ControlError: Error {
    let problem: String
    var status = 400

    init(_ problem: String, status: Int = 400) {
      self.problem = problem
      self.status = status
    }
  }

  mutating func control(_ request: HTTPRequest, _ path: String) -> HTTPResponse {
    do {
      return try .json(controlled(request, path))
    } catch let error as ControlError {
      return .json(["problem": .string(error.problem)], status: error.status)
    } catch {
      return .json(["problem": "the body is not what was expected"], status: 400)
    }
  }

  private mutating func controlled(_ request: HTTPRequest, _ path: String) throws -> PracticeJSON {
    switch (request.method, path) {
    case ("GET", "/practice/requests"): return requestsJSON()
    case ("GET", "/practice/grants"): return grantsJSON()
    case ("DELETE", "/practice/faults"):
      faults.removeAll()
      return [:]
    case ("POST", _): return try command(path, try Self.body(of: request))
    default: throw ControlError("no such command", status: 404)
    }
  }

  /// A page of another site can make a browser post a form, but cannot send this media type without a CORS preflight.
  private static func body(of request: HTTPRequest) throws -> PracticeJSON {
    guard request.header("Content-Type")?.lowercased().hasPrefix("application/json") ?? false else {
      throw ControlError("Content-Type must be application/json", status: 415)
    }
    return request.body.isEmpty ? [:] : try PracticeJSON(parsing: request.body)
  }

  private mutating func command(_ path: String, _ body: PracticeJSON) throws -> PracticeJSON {
    switch path {
    case "/practice/faults":
      for item in body["faults"]?.arrayValue ?? [body] {
        guard let faultPath = item["path"]?.stringValue else { throw ControlError("path is missing") }
        faults.append(try Fault(json: item), path: faultPath)
      }
    case "/practice/reset": reset()
    case "/practice/options": options = try options.changed(by: body)
    case "/practice/keys":
      let name = body["algorithm"]?.stringValue
      guard let algorithm = name.map(SigningAlgorithm.init(rawValue:)) ?? keys.current.algorithm else {
        throw ControlError("no such algorithm")
      }
      keys.rotate(to: algorithm, keepingOld: body["keepOld"]?.boolValue ?? true, random: random)
    case "/practice/users": try changeUser(body)
    case "/practice/revoke": return ["ended": .integer(Int64(try endGrants(matching: body)))]
    case "/practice/sign-in": return try signInJSON(body)
    case "/practice/device": try decideDevice(body)
    default: throw ControlError("no such command", status: 404)
    }
    return [:]
  }

  /// Resets the provider to its first state.
  mutating func reset() {
    self = ProviderState(issuer: issuer.identifier, options: initialOptions, random: random)
  }

  private func requestsJSON() -> PracticeJSON {
    let counts = log.counts.sorted { $0.key < $1.key }.map { PracticeJSON.Member($0.key, .integer(Int64($0.value))) }
    return ["requests": .array(log.entries.map(\.json)), "counts": .object(counts)]
  }

  private func grantsJSON() -> PracticeJSON {
    let rows = grants.values.sorted { $0.id < $1.id }.map { grant -> PracticeJSON in
      let user = options.users[grant.userIndex]
      return [
        "id": .string(grant.id),
        "client_id": .string(grant.clientID),
        "user": .string("\(user.name)@\(user.tenant)"),
        "scope": .string(grant.scopes.joined(separator: " ")),
        "ended": grant.end.map { .string($0.rawValue) } ?? .null,
      ]
    }
    return ["grants": .array(rows)]
  }

  private func knownUser(_ body: PracticeJSON) throws -> Int {
    guard let name = body["user"]?.stringValue, let index = userIndex(name) else { throw ControlError("no such user") }
    return index
  }

  private mutating func changeUser(_ body: PracticeJSON) throws {
    let index = try knownUser(body)
    let strings = { (name: String) in body[name]?.arrayValue?.compactMap(\.stringValue) }
    changeUser(
      index,
      disabled: body["disabled"]?.boolValue,
      roles: strings("roles"),
      entitlements: strings("entitlements")
    )
  }

  mutating func changeUser(_ index: Int, disabled: Bool?, roles: [String]?, entitlements: [String]?) {
    if let disabled { options.users[index].isDisabled = disabled }
    if let roles { options.users[index].roles = roles }
    if let entitlements { options.users[index].entitlements = entitlements }
    if roles != nil || entitlements != nil { options.users[index].version += 1 }
  }

  private mutating func endGrants(matching body: PracticeJSON) throws -> Int {
    if let id = body["grant"]?.stringValue {
      guard grants[id] != nil else { throw ControlError("no such grant") }
      return endGrants { $0.id == id }
    }
    let user = try knownUser(body)
    let client = body["client_id"]?.stringValue
    return endGrants { $0.userIndex == user && (client == nil || client == $0.clientID) }
  }

  mutating func endGrants(where isMeant: (Grant) -> Bool) -> Int {
    let meant = grants.values.filter { $0.end == nil && isMeant($0) }
    for grant in meant { end(grant.id, because: .administrator) }
    return meant.count
  }

  /// One user, or all users in their order if `everybody` is set.
  private mutating func signInJSON(_ body: PracticeJSON) throws -> PracticeJSON {
    guard body["everybody"]?.boolValue ?? false else { return try signInJSON(body, user: try knownUser(body)) }
    var all: [PracticeJSON] = []
    for user in options.users.indices { all.append(try signInJSON(body, user: user)) }
    return ["sign_ins": .array(all)]
  }

  private mutating func signInJSON(_ body: PracticeJSON, user: Int) throws -> PracticeJSON {
    let issued = try signIn(
      user: user,
      clientID: body["client_id"]?.stringValue ?? "lanyard-demo",
      scopes: body["scope"]?.stringValue?.split(separator: " ").map(String.init)
    )
    return [
      "access_token": .string(issued.accessToken),
      "refresh_token": issued.refreshToken.map { .string($0) } ?? .null,
      "id_token": issued.idToken.map { .string($0) } ?? .null,
      "scope": .string(issued.scopes.joined(separator: " ")),
      "expires_in": .integer(Int64(issued.expiresInSeconds)),
      "grant": .string(issued.grantID),
    ]
  }

  /// Issues tokens as a sign-in would.
  mutating func signIn(user: Int, clientID: String, scopes: [String]?, resources: [String] = []) throws -> Issued {
    guard let client = client(clientID) else { throw ControlError("no such client") }
    let defaults = ["openid", "profile", "email", "offline_access"]
    let wanted = scopes ?? defaults.filter { client.scopes?.contains($0) ?? true }
    let grantID = newGrant(
      clientID: clientID,
      userIndex: user,
      scopes: wanted,
      resources: resources,
      authTime: nowSeconds,
      sessionID: newValue("sid_")
    )
    return issueFirst(grantID, resources: resources)
  }

  private mutating func decideDevice(_ body: PracticeJSON) throws {
    guard let userCode = body["user_code"]?.stringValue, let device = pendingDevice(userCode: userCode) else {
      throw ControlError("no such code")
    }
    if body["deny"]?.boolValue ?? false {
      devices[device]?.status = .denied
    } else {
      approveDevice(device, userIndex: try knownUser(body))
    }
  }
}
