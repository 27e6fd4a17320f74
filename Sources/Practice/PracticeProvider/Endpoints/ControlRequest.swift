import LoopbackHTTP

/// `/practice/…`: scripts the provider from another program. The functions of `PracticeProvider+Scripting.swift`, in
/// JSON.
struct ControlRequest {
  struct Failure: Error {
    let problem: String
    var status = 400

    init(_ problem: String, status: Int = 400) {
      self.problem = problem
      self.status = status
    }
  }

  private let request: HTTPRequest
  private let path: String

  init(_ request: HTTPRequest, _ path: String) { (self.request, self.path) = (request, path) }

  /// The result of the command as JSON.
  func perform(on state: inout ProviderState) throws -> PracticeJSON {
    switch (request.method, path) {
    case ("GET", "/practice/requests"): return state.log.json
    case ("GET", "/practice/grants"): return Self.grants(of: state)
    case ("GET", "/practice/provider"): return state.context.configuration
    case ("DELETE", "/practice/faults"):
      state.faults.removeAll()
      return [:]
    case ("POST", _): return try ControlCommand(path, body()).perform(on: &state)
    default: throw Failure("no such command", status: 404)
    }
  }

  /// A page of another site can make a browser post a form, but cannot send this media type without a CORS preflight.
  private func body() throws -> PracticeJSON {
    guard request.header("Content-Type")?.lowercased().hasPrefix("application/json") ?? false else {
      throw Failure("Content-Type must be application/json", status: 415)
    }
    return request.body.isEmpty ? [:] : try PracticeJSON(parsing: request.body)
  }

  private static func grants(of state: ProviderState) -> PracticeJSON {
    let rows = state.tokens.grants.values.sorted { $0.id < $1.id }.map { grant -> PracticeJSON in
      let user = state.context.options.owner(of: grant)
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
}

/// One command, with its JSON body.
private struct ControlCommand {
  private typealias Failure = ControlRequest.Failure

  private let path: String
  private let body: PracticeJSON

  init(_ path: String, _ body: PracticeJSON) { (self.path, self.body) = (path, body) }

  func perform(on state: inout ProviderState) throws -> PracticeJSON {
    switch path {
    case "/practice/faults":
      for item in body["faults"]?.arrayValue ?? [body] {
        guard let faultPath = item["path"]?.stringValue else { throw Failure("path is missing") }
        state.faults.append(try Fault(json: item, in: state.context), path: faultPath)
      }
    case "/practice/reset": state.reset()
    case "/practice/options": state.context.options = try state.context.options.changed(by: body)
    case "/practice/keys": try rotateKeys(of: &state)
    case "/practice/secrets": return try secret(of: &state)
    case "/practice/users": try changeUser(in: &state.context.options)
    case "/practice/revoke": return ["ended": .integer(Int64(try endGrants(of: &state)))]
    case "/practice/sign-in": return try signIn(to: &state)
    case "/practice/device": try decideDevice(in: &state)
    default: throw Failure("no such command", status: 404)
    }
    return [:]
  }

  private func rotateKeys(of state: inout ProviderState) throws {
    let name = body["algorithm"]?.stringValue
    guard let algorithm = name.map(SigningAlgorithm.init(rawValue:)) ?? state.tokens.signer.keys.current.algorithm
    else {
      throw Failure("no such algorithm")
    }
    state.tokens.signer.keys.rotate(
      to: algorithm, keepingOld: body["keepOld"]?.boolValue ?? true, random: state.context.random)
  }

  private func user(of options: PracticeOptions) throws -> Int {
    guard let name = body["user"]?.stringValue, let index = options.users.index(called: name) else {
      throw Failure("no such user")
    }
    return index
  }

  /// Makes a key of a user for `/keyed/`, or ends the one that is named.
  private func secret(of state: inout ProviderState) throws -> PracticeJSON {
    if let secret = body["end"]?.stringValue { return ["ended": .bool(state.secrets.end(secret))] }
    let index = try user(of: state.context.options)
    return ["secret": .string(state.secrets.make(userIndex: index, in: state.context))]
  }

  private func changeUser(in options: inout PracticeOptions) throws {
    let strings = { (name: String) in body[name]?.arrayValue?.compactMap(\.stringValue) }
    options.changeUser(
      try user(of: options),
      disabled: body["disabled"]?.boolValue,
      roles: strings("roles"),
      entitlements: strings("entitlements")
    )
  }

  private func endGrants(of state: inout ProviderState) throws -> Int {
    if let id = body["grant"]?.stringValue {
      guard state.tokens.grants[id] != nil else { throw Failure("no such grant") }
      return state.tokens.endAll(because: .administrator) { $0.id == id }
    }
    let user = try user(of: state.context.options)
    let client = body["client_id"]?.stringValue
    return state.tokens.endAll(because: .administrator) {
      $0.userIndex == user && (client == nil || client == $0.clientID)
    }
  }

  /// One user, or all users in their order if `everybody` is set.
  private func signIn(to state: inout ProviderState) throws -> PracticeJSON {
    let options = state.context.options
    guard body["everybody"]?.boolValue ?? false else { return try signIn(user(of: options), to: &state) }
    var all: [PracticeJSON] = []
    for user in options.users.indices { all.append(try signIn(user, to: &state)) }
    return ["sign_ins": .array(all)]
  }

  private func signIn(_ user: Int, to state: inout ProviderState) throws -> PracticeJSON {
    let clientID = body["client_id"]?.stringValue ?? "lanyard-demo"
    guard let client = state.clients.client(clientID, in: state.context) else { throw Failure("no such client") }
    let scopes = body["scope"]?.stringValue?.split(separator: " ").map(String.init)
    let issued = state.tokens.signIn(userIndex: user, client: client, scopes: scopes, in: state.context)
    return [
      "access_token": .string(issued.accessToken),
      "refresh_token": issued.refreshToken.map { .string($0) } ?? .null,
      "id_token": issued.idToken.map { .string($0) } ?? .null,
      "scope": .string(issued.scopes.joined(separator: " ")),
      "expires_in": .integer(Int64(issued.expiresInSeconds)),
      "grant": .string(issued.grant),
    ]
  }

  private func decideDevice(in state: inout ProviderState) throws {
    guard let userCode = body["user_code"]?.stringValue,
      let device = state.devices.pending(userCode: userCode, in: state.context)
    else { throw Failure("no such code") }
    if body["deny"]?.boolValue ?? false {
      state.devices.deny(device)
    } else {
      state.devices.approve(device, userIndex: try user(of: state.context.options), in: state.context)
    }
  }
}
