import LoopbackHTTP

/// `/authorize`, the pages for a browser.
extension ProviderState {
  private static let sessionCookie = "practice_session"

  mutating func authorize(_ request: HTTPRequest) -> HTTPResponse {
    let form = request.formItems
    if request.method == "POST", let id = form.first(where: { $0.name == "interaction" })?.value {
      return decide(interactionID: id, form, session: session(of: request))
    }
    guard request.method == "GET" || request.method == "POST" else {
      return HTTPResponse(status: 405, headers: [("Allow", "GET, POST")])
    }
    do throws(AuthorizationRefusal) {
      // OpenID Core section 3.1.2.1: the request may come by GET or POST.
      let wanted = try authorizationRequest(request.method == "POST" ? form : request.queryItems)
      seenClientID = wanted.clientID
      return begin(wanted, session: session(of: request))
    } catch {
      switch error {
      case .page(let text):
        return Page.message("This sign-in link does not work", text, status: 400, isGood: false)
      case .redirect(let location): return .redirect(to: location)
      }
    }
  }

  private mutating func begin(_ wanted: AuthorizationRequest, session: BrowserSession?) -> HTTPResponse {
    if let userIndex = automaticUser(hint: wanted.loginHint) {
      if options.users[userIndex].isDisabled { return .redirect(to: refuse(wanted, "access_denied")) }
      return .redirect(to: approve(wanted, userIndex: userIndex))
    }
    let usable = session.flatMap { isUsable($0, for: wanted) ? $0 : nil }
    if wanted.prompts.contains("none") {
      guard let usable else { return .redirect(to: refuse(wanted, "login_required")) }
      return .redirect(to: approve(wanted, userIndex: usable.userIndex, authTime: usable.authTime))
    }
    if interactions.count >= Interaction.maximumOpen,
      let oldest = interactions.min(by: { $0.value.openedAtMilliseconds < $1.value.openedAtMilliseconds })
    {
      interactions[oldest.key] = nil
    }
    let id = newValue("page_")
    interactions[id] = Interaction(request: wanted, openedAtMilliseconds: now, session: usable)
    return page(id, wanted, chosen: usable?.userIndex ?? wanted.loginHint.flatMap(userIndex), isSignedIn: usable != nil)
      .response()
  }

  private mutating func decide(
    interactionID: String,
    _ form: [(name: String, value: String)],
    session: BrowserSession?
  ) -> HTTPResponse {
    guard let interaction = interactions[interactionID],
      now - interaction.openedAtMilliseconds < Interaction.lifetimeMilliseconds
    else {
      return Page.message("This page is too old", "Go back to the program and begin again.", status: 400, isGood: false)
    }
    let wanted = interaction.request
    seenClientID = wanted.clientID
    switch form.first(where: { $0.name == "decision" })?.value {
    case "deny":
      interactions[interactionID] = nil
      return .redirect(to: refuse(wanted, "access_denied", description: "the person said no"), status: 303)
    case "other":
      interactions[interactionID]?.session = nil
      return page(interactionID, wanted, chosen: nil, isSignedIn: false).response()
    default: break
    }
    if let known = interaction.session, known == session {
      interactions[interactionID] = nil
      return .redirect(to: approve(wanted, userIndex: known.userIndex, authTime: known.authTime), status: 303)
    }
    switch checkPassword(form) {
    case .wrong(let chosen):
      var again = page(interactionID, wanted, chosen: chosen, isSignedIn: false)
      again.problem = "That name and password don’t match."
      return again.response(status: 401)
    case .disabled(let chosen):
      var again = page(interactionID, wanted, chosen: chosen, isSignedIn: false)
      again.problem = "This account is disabled. Ask an administrator."
      return again.response(status: 403)
    case .good(let userIndex):
      interactions[interactionID] = nil
      return signedIn(userIndex, to: wanted)
    }
  }

  private mutating func signedIn(_ userIndex: Int, to wanted: AuthorizationRequest) -> HTTPResponse {
    let cookie = newValue("")
    sessions[cookie] = BrowserSession(userIndex: userIndex, authTime: nowSeconds)
    return HTTPResponse(
      status: 303,
      headers: [
        ("Location", approve(wanted, userIndex: userIndex)),
        ("Set-Cookie", "\(Self.sessionCookie)=\(cookie); Path=/; HttpOnly; SameSite=Lax"),
      ]
    )
  }

  private func page(
    _ id: String,
    _ wanted: AuthorizationRequest,
    chosen: Int?,
    isSignedIn: Bool
  ) -> SignInPage {
    SignInPage(
      clientID: wanted.clientID,
      scopes: wanted.scopes,
      redirectURI: wanted.redirectURI,
      interactionID: id,
      users: options.users,
      chosen: chosen,
      isSignedIn: isSignedIn
    )
  }

  /// The user to sign in without a page, if the options name one.
  func automaticUser(hint: String?) -> Int? {
    guard let name = options.autoApprove else { return nil }
    return hint.flatMap(userIndex) ?? userIndex(name)
  }

  enum PasswordCheck {
    case good(Int)
    case wrong(chosen: Int?)
    case disabled(Int)
  }

  func checkPassword(_ form: [(name: String, value: String)]) -> PasswordCheck {
    let name = form.first { $0.name == "username" }?.value ?? ""
    guard let index = userIndex(name) else { return .wrong(chosen: nil) }
    guard form.contains(where: { $0 == ("password", options.users[index].password) }) else {
      return .wrong(chosen: index)
    }
    return options.users[index].isDisabled ? .disabled(index) : .good(index)
  }

  // MARK: The browser's session

  private func isUsable(_ session: BrowserSession, for wanted: AuthorizationRequest) -> Bool {
    if !wanted.prompts.isDisjoint(with: ["login", "select_account"]) { return false }
    if let hint = wanted.loginHint, userIndex(hint) != session.userIndex { return false }
    if let maximum = wanted.maximumAgeSeconds, nowSeconds - session.authTime > maximum { return false }
    return !options.users[session.userIndex].isDisabled
  }

  func sessionID(of request: HTTPRequest) -> String? {
    for pair in (request.header("Cookie") ?? "").split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.count == 2, parts[0].drop(while: { $0 == " " }) == Self.sessionCookie { return String(parts[1]) }
    }
    return nil
  }

  private func session(of request: HTTPRequest) -> BrowserSession? { sessionID(of: request).flatMap { sessions[$0] } }
}
