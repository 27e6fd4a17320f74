import LoopbackHTTP

struct BrowserSession: Sendable, Equatable {
  let userIndex: Int
  let authTime: Int64
}

/// An authorization request whose page is open in a browser.
package struct Interaction: Sendable {
  static let lifetimeMilliseconds: Int64 = 600_000
  /// Limit of pages that are opened and never answered.
  package static let maximumOpen = 256

  let request: AuthorizationRequest
  let openedAtMilliseconds: Int64
  /// The page greeted a user who was signed in already, and asked for no password.
  var session: BrowserSession?
}

/// `/authorize` in a browser: the open pages, and the sessions of the users who signed in.
package struct BrowserSignIns {
  private static let sessionCookie = "practice_session"

  /// Sessions of browsers, by cookie.
  private var sessions: [String: BrowserSession] = [:]
  /// Open sign-in pages, by the id in their form.
  package private(set) var interactions: [String: Interaction] = [:]

  mutating func authorize(
    _ request: HTTPRequest,
    _ authorizations: inout Authorizations,
    _ clients: inout ClientRegistry,
    in context: ProviderContext
  ) -> HTTPResponse {
    let form = request.formItems
    if request.method == "POST", let id = form.first(where: { $0.name == "interaction" })?.value {
      guard let interaction = interactions[id],
        context.now - interaction.openedAtMilliseconds < Interaction.lifetimeMilliseconds
      else {
        return Page.message(
          "This page is too old", "Go back to the program and begin again.", status: 400, isGood: false)
      }
      clients.seenID = interaction.request.clientID
      return decide(interaction, id, form, session: session(of: request), &authorizations, in: context)
    }
    guard request.method == "GET" || request.method == "POST" else {
      return HTTPResponse(status: 405, headers: [("Allow", "GET, POST")])
    }
    do throws(AuthorizationRefusal) {
      // OpenID Core section 3.1.2.1: the request may come by GET or POST.
      let items = request.method == "POST" ? form : request.queryItems
      let wanted = try authorizations.request(items, from: clients, in: context)
      clients.seenID = wanted.clientID
      return begin(wanted, session: session(of: request), &authorizations, in: context)
    } catch {
      switch error {
      case .page(let text):
        return Page.message("This sign-in link does not work", text, status: 400, isGood: false)
      case .redirect(let location): return .redirect(to: location)
      }
    }
  }

  private mutating func begin(
    _ wanted: AuthorizationRequest,
    session: BrowserSession?,
    _ authorizations: inout Authorizations,
    in context: ProviderContext
  ) -> HTTPResponse {
    let users = context.options.users
    if let userIndex = context.options.automaticUser(hint: wanted.loginHint) {
      if users[userIndex].isDisabled {
        return .redirect(to: authorizations.refuse(wanted, "access_denied", in: context))
      }
      return .redirect(to: authorizations.approve(wanted, userIndex: userIndex, in: context))
    }
    let usable = session.flatMap { isUsable($0, for: wanted, in: context) ? $0 : nil }
    if wanted.prompts.contains("none") {
      guard let usable else {
        return .redirect(to: authorizations.refuse(wanted, "login_required", in: context))
      }
      return .redirect(
        to: authorizations.approve(wanted, userIndex: usable.userIndex, authTime: usable.authTime, in: context))
    }
    if interactions.count >= Interaction.maximumOpen,
      let oldest = interactions.min(by: { $0.value.openedAtMilliseconds < $1.value.openedAtMilliseconds })
    {
      interactions[oldest.key] = nil
    }
    let id = context.newValue("page_")
    interactions[id] = Interaction(request: wanted, openedAtMilliseconds: context.now, session: usable)
    let chosen = usable?.userIndex ?? wanted.loginHint.flatMap { users.index(called: $0) }
    return SignInPage(wanted, id, users: users, chosen: chosen, isSignedIn: usable != nil).response()
  }

  private mutating func decide(
    _ interaction: Interaction,
    _ id: String,
    _ form: [(name: String, value: String)],
    session: BrowserSession?,
    _ authorizations: inout Authorizations,
    in context: ProviderContext
  ) -> HTTPResponse {
    let wanted = interaction.request
    let users = context.options.users
    switch form.first(where: { $0.name == "decision" })?.value {
    case "deny":
      interactions[id] = nil
      let location = authorizations.refuse(wanted, "access_denied", description: "the person said no", in: context)
      return .redirect(to: location, status: 303)
    case "other":
      interactions[id]?.session = nil
      return SignInPage(wanted, id, users: users, chosen: nil, isSignedIn: false).response()
    default: break
    }
    if let known = interaction.session, known == session {
      interactions[id] = nil
      let location = authorizations.approve(
        wanted, userIndex: known.userIndex, authTime: known.authTime, in: context)
      return .redirect(to: location, status: 303)
    }
    switch users.checkPassword(form) {
    case .wrong(let chosen):
      var again = SignInPage(wanted, id, users: users, chosen: chosen, isSignedIn: false)
      again.problem = "That name and password don’t match."
      return again.response(status: 401)
    case .disabled(let chosen):
      var again = SignInPage(wanted, id, users: users, chosen: chosen, isSignedIn: false)
      again.problem = "This account is disabled. Ask an administrator."
      return again.response(status: 403)
    case .good(let userIndex):
      interactions[id] = nil
      let cookie = beginSession(userIndex, in: context)
      let location = authorizations.approve(wanted, userIndex: userIndex, in: context)
      return HTTPResponse(status: 303, headers: [("Location", location), ("Set-Cookie", cookie)])
    }
  }

  // MARK: The browser's session

  /// The cookie of a new session.
  private mutating func beginSession(_ userIndex: Int, in context: ProviderContext) -> String {
    let cookie = context.newValue("")
    sessions[cookie] = BrowserSession(userIndex: userIndex, authTime: context.nowSeconds)
    return "\(Self.sessionCookie)=\(cookie); Path=/; HttpOnly; SameSite=Lax"
  }

  private func isUsable(
    _ session: BrowserSession, for wanted: AuthorizationRequest, in context: ProviderContext
  ) -> Bool {
    let users = context.options.users
    if !wanted.prompts.isDisjoint(with: ["login", "select_account"]) { return false }
    if let hint = wanted.loginHint, users.index(called: hint) != session.userIndex { return false }
    if let maximum = wanted.maximumAgeSeconds, context.nowSeconds - session.authTime > maximum { return false }
    return !users[session.userIndex].isDisabled
  }

  private func sessionID(of request: HTTPRequest) -> String? {
    for pair in (request.header("Cookie") ?? "").split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.count == 2, parts[0].drop(while: { $0 == " " }) == Self.sessionCookie { return String(parts[1]) }
    }
    return nil
  }

  private func session(of request: HTTPRequest) -> BrowserSession? { sessionID(of: request).flatMap { sessions[$0] } }

  /// Ends the session of the request's browser, and all of one user.
  mutating func endSessions(of request: HTTPRequest, userIndex: Int?) {
    if let cookie = sessionID(of: request) { sessions[cookie] = nil }
    if let userIndex { sessions = sessions.filter { $0.value.userIndex != userIndex } }
  }
}
