internal import AgentModel
internal import PracticeProvider
internal import SchemaKit

extension PracticeOptions {
  /// Sets the option that `@provider` calls `key`.
  mutating func set(_ key: String, _ value: String) throws {
    func seconds() throws -> Int { Int(try Arguments.duration(value).wholeSeconds) }
    switch key {
    case "rotation":
      let parts = value.split(separator: ":")
      switch parts[0] {
      case "none": rotation = .none
      case "strict": rotation = .strict
      case "grace": rotation = .grace(seconds: parts.count > 1 ? Int(parts[1]) ?? 10 : 10)
      default: throw Unreadable("rotation is none, strict or grace:SECONDS")
      }
    case "accessTokenLifetime": accessTokenLifetimeSeconds = try seconds()
    case "refreshTokenLifetime":
      refreshTokenLifetimeSeconds = try seconds()
      tellsRefreshTokenLifetime = true
    case "refreshIn": refreshInSeconds = try seconds()
    case "deviceInterval": devicePollingIntervalSeconds = try seconds()
    case "deviceLifetime": deviceCodeLifetimeSeconds = try seconds()
    case "accessTokens": accessTokenFormat = value == "opaque" ? .opaque : .jwt
    case "idTokenOnRefresh": idTokenOnRefresh = value == "true"
    case "userInfo": signsUserInfo = value == "signed"
    case "openid": isOpenID = value == "true"
    case "pkce": announcesPKCE = value == "true"
    case "iss": announcesIssuer = value == "true"
    case "clientDocuments": takesClientDocuments = value == "true"
    case "refreshTokens": issuesRefreshTokens = value == "true"
    case "expiresIn": tellsExpiry = value == "true"
    case "metadata":
      guard let layout = MetadataLayout(rawValue: value) else { throw Unreadable("metadata is not \(value)") }
      metadata = layout
    case "auth":
      let methods = value.split(separator: ",").map { ClientAuthenticationMethod(rawValue: String($0)) }
      guard !methods.contains(nil) else { throw Unreadable("auth is not \(value)") }
      toldAuthenticationMethods = methods.compactMap { $0 }
    case "registration":
      guard let policy = ClientRegistrationPolicy(rawValue: value) else {
        throw Unreadable("registration is not \(value)")
      }
      registration = policy
    case "dpop":
      guard let policy = DPoPPolicy(rawValue: value) else { throw Unreadable("dpop is not \(value)") }
      dpop = policy
    case "details":
      guard let policy = AuthorizationDetailsPolicy(rawValue: value) else {
        throw Unreadable("details is not \(value)")
      }
      authorizationDetails = policy
    case "detailsTypes": authorizationDetailsTypes = value == "any" ? [] : value.split(separator: ",").map(String.init)
    case "par":
      guard let pushed = PushedAuthorization(rawValue: value) else { throw Unreadable("par is not \(value)") }
      pushedAuthorization = pushed
    case "parLifetime": pushedRequestLifetimeSeconds = try seconds()
    case "signing":
      guard let algorithm = SigningAlgorithm(rawValue: value) else { throw Unreadable("signing is not \(value)") }
      signingAlgorithm = algorithm
    case "clock": clockOffsetMilliseconds = try Arguments.difference(value).count
    case "date": sendsDate = value == "true"
    case "suberror": disabledUserSuberror = value == "none" ? nil : value
    default: throw Unreadable("\(key) is no option of a provider")
    }
  }
}

extension Fault {
  /// `[times=2] 400 [Retry-After=7] {…}`, or a fault by its name.
  init(scripted effect: String) throws {
    let brace = effect.firstIndex { "{[<".contains($0) } ?? effect.endIndex
    let body = String(effect[brace...])
    let arguments = Arguments(String(effect[..<brace]))
    let word = try arguments.word(0, "a status, or what goes wrong")
    var fault: Fault
    switch word {
    case "drop": fault = Fault(.dropBeforeProcessing)
    case "lose": fault = Fault(.dropAfterProcessing)
    case "hang": fault = Fault(.hangBeforeProcessing)
    case "page": fault = Fault(.notJSON)
    case "delay":
      fault = .delay(milliseconds: Int(try Arguments.duration(try arguments.word(1, "a duration")).count))
    case "answer": fault = Fault(.changeAnswer(try Self.members(body)))
    case "idtoken":
      let signature = arguments["signature"].map { Fault.IDTokenSignature(rawValue: $0) } ?? .good
      guard let signature else { throw Unreadable("there is no such signature") }
      fault = Fault(.changeIDToken(try Self.members(body.isEmpty ? "{}" : body), signature: signature))
    default:
      guard let status = Int(word) else { throw Unreadable("\(word) is nothing that goes wrong") }
      let type = body.hasPrefix("<") ? "text/html" : "application/json"
      let headers = arguments.options.filter { $0.key.first?.isUppercase == true }.map {
        (name: $0.key, value: $0.value)
      }
      fault = .status(status, body, headers: [(name: "Content-Type", value: type)] + headers)
    }
    if let times = arguments["times"] { fault.count = Int(times) }
    self = fault
  }

  private static func members(_ text: String) throws -> [String: PracticeJSON] {
    guard let members = (try? JSONValue(parsing: text))?.members else { throw Unreadable("expected a JSON object") }
    return Dictionary(uniqueKeysWithValues: members.map { ($0.name, PracticeJSON($0.value)) })
  }
}

extension PracticeJSON {
  fileprivate init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .number(let text): self = Int64(text).map { .integer($0) } ?? .number(Double(text) ?? 0)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .array(elements.map { PracticeJSON($0) })
    case .object(let members): self = .object(members.map { Member($0.name, PracticeJSON($0.value)) })
    }
  }
}
