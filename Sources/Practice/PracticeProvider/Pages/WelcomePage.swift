import LoopbackHTTP

/// `/`, the page for a person who opens the issuer in a browser.
struct WelcomePage {
  let issuer: Issuer
  let users: [PracticeUser]

  func response() -> HTTPResponse {
    let people = users.map { user in
      "<li>\(Page.escape(user.displayName)): \(Page.escape(user.name))@\(Page.escape(user.tenant))</li>"
    }
    return Page.response(
      title: "Ready",
      about: """
        <h1>Ready</h1>
        <p class="lead">An OpenID provider for practice. Its issuer is <b>\(Page.escape(issuer.identifier))</b></p>
        <h2>People</h2>
        <ul class="scopes">\(people.joined())</ul>
        """
    )
  }
}
