import LoopbackHTTP

/// The device flow (RFC 8628), and `/device`, its pages for a browser.
struct DeviceAuthorizations {
  /// Without vowels, so that no code spells a word (RFC 8628 section 6.1).
  private static let userCodeLetters = Array("BCDFGHJKLMNPQRSTVWXZ")

  /// By device code.
  private var devices: [String: DeviceAuthorization] = [:]

  // MARK: The device

  /// `/device_authorization` for an authenticated client.
  mutating func begin(
    _ form: Parameters, by client: PracticeClient, in context: ProviderContext
  ) throws(OAuthError) -> HTTPResponse {
    let options = context.options
    let scopes = try form.scopes(offeredTo: client, of: options.scopes)
    let resources = try form.resources(of: client)
    let details = try form.authorizationDetails(options)
    let deviceCode = context.newValue("device_")
    let userCode = Self.newUserCode(in: context)
    devices[deviceCode] = DeviceAuthorization(
      userCode: userCode,
      clientID: client.id,
      scopes: scopes,
      resources: resources,
      details: details,
      expiresAtMilliseconds: context.now + Int64(options.deviceCodeLifetimeSeconds) * 1000,
      intervalSeconds: options.devicePollingIntervalSeconds
    )
    return .json([
      "device_code": .string(deviceCode),
      "user_code": .string(userCode),
      "verification_uri": .string(context.issuer.endpoint("/device")),
      "verification_uri_complete": .string(context.issuer.endpoint("/device?user_code=\(userCode)")),
      "expires_in": .integer(Int64(options.deviceCodeLifetimeSeconds)),
      "interval": .integer(Int64(options.devicePollingIntervalSeconds)),
    ])
  }

  private static func newUserCode(in context: ProviderContext) -> String {
    let letters = context.random(8).map { userCodeLetters[Int($0) % userCodeLetters.count] }
    return String(letters[..<4]) + "-" + String(letters[4...])
  }

  /// RFC 8628 section 3.5. An approved authorization is used up.
  mutating func poll(
    _ form: Parameters, by client: PracticeClient, in context: ProviderContext
  ) throws(OAuthError) -> (device: DeviceAuthorization, userIndex: Int, authTime: Int64) {
    let deviceCode = try form.required("device_code")
    guard var device = devices[deviceCode], device.clientID == client.id, device.status != .used else {
      throw .invalidGrant("unknown device code")
    }
    let now = context.now
    guard device.expiresAtMilliseconds > now else { throw OAuthError(code: "expired_token") }
    let isTooFast = device.lastPollMilliseconds.map { now - $0 < Int64(device.intervalSeconds) * 1000 } ?? false
    device.lastPollMilliseconds = now
    defer { devices[deviceCode] = device }

    switch device.status {
    case .pending where isTooFast:
      device.intervalSeconds += 5
      throw OAuthError(code: "slow_down")
    case .pending: throw OAuthError(code: "authorization_pending")
    case .denied: throw OAuthError(code: "access_denied")
    case .used: throw .invalidGrant("unknown device code")
    case .approved(let userIndex, let authTime):
      device.status = .used
      return (device, userIndex, authTime)
    }
  }

  // MARK: The person

  /// The pending authorization of a typed code: case-insensitive, with or without the dash.
  func pending(userCode: String, in context: ProviderContext) -> String? {
    let typed = Self.normalized(userCode)
    return devices.first {
      $0.value.status == .pending && $0.value.expiresAtMilliseconds > context.now
        && Self.normalized($0.value.userCode) == typed
    }?.key
  }

  private static func normalized(_ userCode: String) -> String { userCode.uppercased().filter(\.isLetter) }

  mutating func approve(_ deviceCode: String, userIndex: Int, in context: ProviderContext) {
    devices[deviceCode]?.status = .approved(userIndex: userIndex, authTime: context.nowSeconds)
  }

  mutating func deny(_ deviceCode: String) { devices[deviceCode]?.status = .denied }

  // MARK: Pages

  mutating func page(_ request: HTTPRequest, in context: ProviderContext) -> HTTPResponse {
    switch request.method {
    case "GET": return show(request.queryItems.first { $0.name == "user_code" }?.value, in: context)
    case "POST": return decide(request.formItems, in: context)
    default: return HTTPResponse(status: 405, headers: [("Allow", "GET, POST")])
    }
  }

  private mutating func show(_ userCode: String?, in context: ProviderContext) -> HTTPResponse {
    let options = context.options
    if let userCode, let device = pending(userCode: userCode, in: context),
      let userIndex = options.automaticUser(hint: nil)
    {
      approve(device, userIndex: userIndex, in: context)
      return Self.connected
    }
    return DevicePage(users: options.users, userCode: userCode ?? "", isCodeFromAddress: userCode != nil).response()
  }

  private mutating func decide(
    _ form: [(name: String, value: String)], in context: ProviderContext
  ) -> HTTPResponse {
    let users = context.options.users
    let userCode = form.first { $0.name == "user_code" }?.value ?? ""
    var page = DevicePage(users: users, userCode: userCode)
    guard let device = pending(userCode: userCode, in: context) else {
      page.problem = "There is no such code, or it has expired."
      return page.response(status: 400)
    }
    if form.contains(where: { $0 == ("decision", "deny") }) {
      deny(device)
      return Page.message("Not connected", "The device was told no. You may close this page.", isGood: false)
    }
    switch users.checkPassword(form) {
    case .good(let userIndex):
      approve(device, userIndex: userIndex, in: context)
      return Self.connected
    case .wrong:
      page.problem = "That name and password don’t match."
      return page.response(status: 401)
    case .disabled:
      page.problem = "This account is disabled. Ask an administrator."
      return page.response(status: 403)
    }
  }

  private static var connected: HTTPResponse {
    Page.message("Device connected", "It signs in within a few seconds. You may close this page.", isGood: true)
  }
}
