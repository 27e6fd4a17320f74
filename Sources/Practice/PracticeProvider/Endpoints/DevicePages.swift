import LoopbackHTTP

/// `/device`, the pages for a browser.
extension ProviderState {
  mutating func devicePage(_ request: HTTPRequest) -> HTTPResponse {
    switch request.method {
    case "GET": return showDevicePage(request.queryItems.first { $0.name == "user_code" }?.value)
    case "POST": return decideDevice(request.formItems)
    default: return HTTPResponse(status: 405, headers: [("Allow", "GET, POST")])
    }
  }

  private mutating func showDevicePage(_ userCode: String?) -> HTTPResponse {
    if let userCode, let device = pendingDevice(userCode: userCode), let userIndex = automaticUser(hint: nil) {
      approveDevice(device, userIndex: userIndex)
      return Self.deviceConnected
    }
    return DevicePage(users: options.users, userCode: userCode ?? "", isCodeFromAddress: userCode != nil).response()
  }

  private mutating func decideDevice(_ form: [(name: String, value: String)]) -> HTTPResponse {
    let userCode = form.first { $0.name == "user_code" }?.value ?? ""
    var page = DevicePage(users: options.users, userCode: userCode)
    guard let device = pendingDevice(userCode: userCode) else {
      page.problem = "There is no such code, or it has expired."
      return page.response(status: 400)
    }
    if form.contains(where: { $0 == ("decision", "deny") }) {
      devices[device]?.status = .denied
      return Page.message("Not connected", "The device was told no. You may close this page.", isGood: false)
    }
    switch checkPassword(form) {
    case .good(let userIndex):
      approveDevice(device, userIndex: userIndex)
      return Self.deviceConnected
    case .wrong:
      page.problem = "That name and password don’t match."
      return page.response(status: 401)
    case .disabled:
      page.problem = "This account is disabled. Ask an administrator."
      return page.response(status: 403)
    }
  }

  mutating func approveDevice(_ deviceCode: String, userIndex: Int) {
    let authTime = nowSeconds
    devices[deviceCode]?.status = .approved(userIndex: userIndex, authTime: authTime)
  }

  private static var deviceConnected: HTTPResponse {
    Page.message("Device connected", "It signs in within a few seconds. You may close this page.", isGood: true)
  }
}
