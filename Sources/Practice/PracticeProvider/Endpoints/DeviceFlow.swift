import LoopbackHTTP

/// The device flow (RFC 8628), without its page.
extension ProviderState {
  /// Without vowels, so that no code spells a word (RFC 8628 section 6.1).
  private static let userCodeLetters = Array("BCDFGHJKLMNPQRSTVWXZ")

  mutating func deviceAuthorization(_ request: HTTPRequest) throws(OAuthError) -> HTTPResponse {
    let form = try Parameters(formOf: request)
    let client = try authenticateClient(request, form)
    let scopes = try checkedScopes(form, client)
    let resources = try checkedResources(form, client)
    let deviceCode = newValue("device_")
    let userCode = newUserCode()
    devices[deviceCode] = DeviceAuthorization(
      userCode: userCode,
      clientID: client.id,
      scopes: scopes,
      resources: resources,
      expiresAtMilliseconds: now + Int64(options.deviceCodeLifetimeSeconds) * 1000,
      intervalSeconds: options.devicePollingIntervalSeconds
    )
    return .json([
      "device_code": .string(deviceCode),
      "user_code": .string(userCode),
      "verification_uri": .string(issuer.endpoint("/device")),
      "verification_uri_complete": .string(issuer.endpoint("/device?user_code=\(userCode)")),
      "expires_in": .integer(Int64(options.deviceCodeLifetimeSeconds)),
      "interval": .integer(Int64(options.devicePollingIntervalSeconds)),
    ])
  }

  private mutating func newUserCode() -> String {
    let letters = random(8).map { Self.userCodeLetters[Int($0) % Self.userCodeLetters.count] }
    return String(letters[..<4]) + "-" + String(letters[4...])
  }

  /// RFC 8628 section 3.5.
  mutating func pollDevice(_ form: Parameters, _ client: PracticeClient) throws(OAuthError) -> Issued {
    let deviceCode = try form.required("device_code")
    guard var device = devices[deviceCode], device.clientID == client.id, device.status != .used else {
      throw .invalidGrant("unknown device code")
    }
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
      let grantID = newGrant(
        clientID: client.id,
        userIndex: userIndex,
        scopes: device.scopes,
        resources: device.resources,
        authTime: authTime,
        sessionID: newValue("sid_")
      )
      return issueFirst(grantID, resources: device.resources)
    }
  }

  /// The pending authorization of a typed code: case-insensitive, with or without the dash.
  func pendingDevice(userCode: String) -> String? {
    let typed = Self.normalized(userCode)
    return devices.first {
      $0.value.status == .pending && $0.value.expiresAtMilliseconds > now
        && Self.normalized($0.value.userCode) == typed
    }?.key
  }

  private static func normalized(_ userCode: String) -> String { userCode.uppercased().filter(\.isLetter) }
}
