import LoopbackHTTP

/// The page at `/authorize`: asks who the user is, and for consent.
struct SignInPage {
  private let request: AuthorizationRequest
  private let interactionID: String
  private let users: [PracticeUser]
  /// The preselected user, from the hint or the browser's session.
  private let chosen: Int?
  /// A browser that is signed in needs no password.
  private let isSignedIn: Bool
  var problem: String?

  init(
    _ request: AuthorizationRequest, _ interactionID: String, users: [PracticeUser], chosen: Int?, isSignedIn: Bool
  ) {
    (self.request, self.interactionID, self.users) = (request, interactionID, users)
    (self.chosen, self.isSignedIn) = (chosen, isSignedIn)
  }

  func response(status: Int = 200) -> HTTPResponse {
    Page.response(
      title: "Sign in",
      about: """
        <h1>\(isSignedIn ? "Welcome back" : "Sign in")</h1>
        <p class="lead">to continue to <b>\(Page.escape(request.clientID))</b></p>
        <h2>It asks to</h2>
        <ul class="scopes">\(request.scopes.map { "<li>\(Page.escape(ScopeDescriptions.text($0)))</li>" }.joined())</ul>
        """,
      form: """
        <form method="post" autocomplete="off">
        \(problem.map { "<p class=\"wrong\" role=\"alert\">\(Page.escape($0))</p>" } ?? "")
        <input type="hidden" name="interaction" value="\(interactionID)">
        \(PersonFields(users: users, chosen: chosen, asksPassword: !isSignedIn).html)
        <div class="buttons">
        <button class="main" name="decision" value="allow">\(isSignedIn ? "Continue" : "Sign in and allow")</button>
        <button name="decision" value="deny" formnovalidate>Deny</button>
        </div>
        \(isSignedIn ? "<button class=\"plain\" name=\"decision\" value=\"other\">Use another account</button>" : "")
        </form>
        """,
      status: status,
      formTargets: RedirectURI.formTarget(request.redirectURI).map { [$0] } ?? []
    )
  }
}

/// Lets the user choose a name and type the password.
struct PersonFields {
  /// With more users than this, the name is typed instead of chosen.
  private static let longestList = 6

  let users: [PracticeUser]
  let chosen: Int?
  var asksPassword = true

  var html: String {
    let password = """
      <label class="field" for="password">Password\(hint)</label>
      <input type="password" id="password" name="password" autocomplete="current-password" required>
      """
    return people + (asksPassword ? password : "")
  }

  private var hint: String {
    users.allSatisfy { $0.password == $0.name } ? " <small>the first name, in small letters</small>" : ""
  }

  private var people: String {
    if !asksPassword, let chosen {
      return "<fieldset><legend>Signed in as</legend>\(row(chosen, isChosen: true))</fieldset>"
    }
    guard users.count <= Self.longestList else {
      let value = chosen.map { Page.escape(Self.login(users[$0])) } ?? ""
      return """
        <label class="field" for="username">Name</label>
        <input type="text" id="username" name="username" value="\(value)" autocapitalize="none" autocomplete="username"
        required>
        """
    }
    let rows = users.indices.map { row($0, isChosen: $0 == chosen ?? 0) }
    return "<fieldset><legend>Who are you?</legend>\(rows.joined())</fieldset>"
  }

  private func row(_ index: Int, isChosen: Bool) -> String {
    let user = users[index]
    let initials = user.displayName.split(separator: " ").prefix(2).compactMap(\.first).map(String.init).joined()
    return """
      <label class="person"><input type="radio" name="username" value="\(Page.escape(Self.login(user)))" \
      \(isChosen ? "checked" : "")><span class="face face\(index % 4)" aria-hidden="true">\(Page.escape(initials))</span>\
      <span class="who"><b>\(Page.escape(user.displayName))</b><small>\(Page.escape(user.email))</small></span>\
      <span class="tenant">\(Page.escape(user.tenant))</span></label>
      """
  }

  private static func login(_ user: PracticeUser) -> String { "\(user.name)@\(user.tenant)" }
}

/// Scopes in words for the user.
enum ScopeDescriptions {
  static func text(_ scope: String) -> String {
    switch scope {
    case "openid": "Know who you are"
    case "profile": "See your name"
    case "email": "See your e-mail address"
    case "offline_access": "Stay signed in while you are away"
    case "workorders:read": "See your work orders"
    case "workorders:write": "Change your work orders"
    case "mail", "mail.read": "Read your mail"
    case "mail.send": "Send mail for you"
    case "files": "See and change your files"
    case "files.read": "See your files"
    case "calendar": "See your calendar"
    default: scope
    }
  }
}
