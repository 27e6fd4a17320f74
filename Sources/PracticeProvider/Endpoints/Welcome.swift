import LoopbackHTTP

/// `/`, for a person who opens the issuer in a browser.
extension ProviderState {
  func welcome() -> HTTPResponse {
    Page.response(
      title: "Practice Provider",
      body: """
        <h1>Ready</h1>
        <p class="lead">An OpenID provider for practice. Its issuer is <b>\(Page.escape(issuer.identifier))</b></p>
        <ul class="scopes">\(options.users.map { user in
          "<li>\(Page.escape(user.displayName)), \(Page.escape(user.tenant)): \(Page.escape(user.name))@\(Page.escape(user.tenant))</li>"
        }.joined())</ul>
        """
    )
  }
}
