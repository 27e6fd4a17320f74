import LoopbackHTTP

extension Fault {
  /// `{"effect":"answer","status":503,"headers":{…},"body":"…" or "json":{…},"delayMilliseconds":0,"count":1 or null,
  /// "when":{"grant_type":"refresh_token"}}`; the other effects by their Swift names. `{"effect":"refusal",
  /// "refusal":"rateLimit"}` is an answer in the words of the provider's guise.
  init(json: PracticeJSON, in context: ProviderContext) throws {
    let effect = try Self.effect(json, in: context)
    var count: Int? = 1
    if let told = json["count"] { count = told == .null ? nil : told.integerValue.map(Int.init) ?? 1 }
    var matching: [String: String] = [:]
    if case .object(let members)? = json["when"] {
      for member in members { matching[member.name] = member.value.stringValue ?? "" }
    }
    self.init(
      effect,
      delayMilliseconds: json["delayMilliseconds"]?.integerValue.map(Int.init) ?? 0,
      count: count,
      matching: matching
    )
  }

  private static func effect(_ json: PracticeJSON, in context: ProviderContext) throws -> Effect {
    let bytes = json["bytes"]?.integerValue.map(Int.init)
    switch json["effect"]?.stringValue ?? "answer" {
    case "answer": return .answer(response(json))
    case "answerAfterProcessing": return .answerAfterProcessing(response(json))
    case "dropBeforeProcessing": return .dropBeforeProcessing
    case "dropAfterProcessing": return .dropAfterProcessing
    case "hangBeforeProcessing": return .hangBeforeProcessing
    case "hangAfterProcessing": return .hangAfterProcessing
    case "endlessBody": return .endlessBody
    case "hugeBody": return .hugeBody(bytes: bytes ?? 1 << 24)
    case "truncatedBody": return .truncatedBody(bytes: bytes ?? 10)
    case "notJSON": return .notJSON
    case "refusal":
      guard let refusal = json["refusal"]?.stringValue.flatMap(Refusal.init) else {
        throw ControlRequest.Failure("no such refusal")
      }
      return .answer(context.response(to: refusal.error(context.options)))
    case "none": return .none
    case "changeAnswer": return .changeAnswer(changes(json["json"]))
    case "changeIDToken":
      let signature = json["signature"]?.stringValue ?? "good"
      guard let signature = IDTokenSignature(rawValue: signature) else {
        throw ControlRequest.Failure("no such signature")
      }
      return .changeIDToken(changes(json["json"]), signature: signature)
    default: throw ControlRequest.Failure("no such effect")
    }
  }

  private static func changes(_ json: PracticeJSON?) -> [String: PracticeJSON] {
    guard case .object(let members)? = json else { return [:] }
    return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
  }

  private static func response(_ json: PracticeJSON) -> HTTPResponse {
    let status = json["status"]?.integerValue.map(Int.init) ?? 500
    var response =
      json["json"].map { HTTPResponse.json($0, status: status) }
      ?? HTTPResponse(status: status, body: Array((json["body"]?.stringValue ?? "").utf8))
    if case .object(let members)? = json["headers"] {
      response.headers = members.map { ($0.name, $0.value.stringValue ?? "") }
    }
    return response
  }
}

extension PracticeOptions {
  /// The options that may be changed while the provider runs, under their Swift names.
  func changed(by json: PracticeJSON) throws -> PracticeOptions {
    guard case .object(let members) = json else { throw ControlRequest.Failure("an object is expected") }
    var options = self
    for member in members {
      guard options.set(member, graceSeconds: json["graceSeconds"]?.integerValue) else {
        throw ControlRequest.Failure("\(member.name) is not an option, or its value is of another kind")
      }
    }
    return options
  }

  private mutating func set(_ member: PracticeJSON.Member, graceSeconds: Int64?) -> Bool {
    let (text, flag, number) = (member.value.stringValue, member.value.boolValue, member.value.integerValue)
    switch member.name {
    case "rotation":
      return assign(text.flatMap { RefreshTokenRotation(name: $0, graceSeconds: graceSeconds) }, \.rotation)
    case "graceSeconds": return number != nil
    case "accessTokenLifetimeSeconds": return assign(number.map(Int.init), \.accessTokenLifetimeSeconds)
    case "refreshTokenLifetimeSeconds":
      return assign(number.map(Int.init).map(Optional.some) ?? cleared(member), \.refreshTokenLifetimeSeconds)
    case "refreshInSeconds":
      return assign(number.map(Int.init).map(Optional.some) ?? cleared(member), \.refreshInSeconds)
    case "accessTokenFormat": return assign(text.flatMap(AccessTokenFormat.init), \.accessTokenFormat)
    case "revocationReach": return assign(text.flatMap(RevocationReach.init), \.revocationReach)
    case "metadata": return assign(text.flatMap(MetadataLayout.init), \.metadata)
    case "pushedAuthorization": return assign(text.flatMap(PushedAuthorization.init), \.pushedAuthorization)
    case "pushedRequestLifetimeSeconds": return assign(number.map(Int.init), \.pushedRequestLifetimeSeconds)
    case "dpop": return assign(text.flatMap(DPoPPolicy.init), \.dpop)
    case "authorizationDetails":
      return assign(text.flatMap(AuthorizationDetailsPolicy.init), \.authorizationDetails)
    case "registration": return assign(text.flatMap(ClientRegistrationPolicy.init), \.registration)
    case "isOpenID": return assign(flag, \.isOpenID)
    case "signsUserInfo": return assign(flag, \.signsUserInfo)
    case "announcesPKCE": return assign(flag, \.announcesPKCE)
    case "announcesIssuer": return assign(flag, \.announcesIssuer)
    case "sendsIssuer": return assign(flag, \.sendsIssuer)
    case "takesAnyLoopbackRedirect": return assign(flag, \.takesAnyLoopbackRedirect)
    case "takesClientDocuments": return assign(flag, \.takesClientDocuments)
    case "issuesRefreshTokens": return assign(flag, \.issuesRefreshTokens)
    case "tellsExpiry": return assign(flag, \.tellsExpiry)
    case "idTokenOnRefresh": return assign(flag, \.idTokenOnRefresh)
    case "logoutEndsTokens": return assign(flag, \.logoutEndsTokens)
    case "publicClientsMayRevoke": return assign(flag, \.publicClientsMayRevoke)
    case "refreshTokenNeedsOfflineAccess": return assign(flag, \.refreshTokenNeedsOfflineAccess)
    case "wrongSecretBurnsRefreshToken": return assign(flag, \.wrongSecretBurnsRefreshToken)
    case "tellsRefreshTokenLifetime": return assign(flag, \.tellsRefreshTokenLifetime)
    case "sendsDate": return assign(flag, \.sendsDate)
    case "clockOffsetMilliseconds": return assign(number, \.clockOffsetMilliseconds)
    case "devicePollingIntervalSeconds": return assign(number.map(Int.init), \.devicePollingIntervalSeconds)
    case "deviceCodeLifetimeSeconds": return assign(number.map(Int.init), \.deviceCodeLifetimeSeconds)
    case "autoApprove": return assign(text.map(Optional.some) ?? cleared(member), \.autoApprove)
    case "disabledUserSuberror": return assign(text.map(Optional.some) ?? cleared(member), \.disabledUserSuberror)
    default: return false
    }
  }

  /// The empty value of an optional option, for null; nil for every other option.
  private func cleared<Value>(_ member: PracticeJSON.Member) -> Value?? {
    member.value == .null ? .some(nil) : nil
  }

  private mutating func assign<Value>(_ value: Value?, _ member: WritableKeyPath<PracticeOptions, Value>) -> Bool {
    guard let value else { return false }
    self[keyPath: member] = value
    return true
  }
}

extension RefreshTokenRotation {
  /// The grace during which a replaced refresh token still works: enough for a slow client, too short for a thief.
  public static let ordinaryGraceSeconds = 30

  /// `none`, `renewed`, `grace` or `strict`.
  public init?(name: String, graceSeconds: Int64? = nil) {
    switch name {
    case "none": self = .none
    case "renewed": self = .renewed
    case "grace": self = .grace(seconds: graceSeconds.map(Int.init) ?? Self.ordinaryGraceSeconds)
    case "strict": self = .strict
    default: return nil
    }
  }
}
