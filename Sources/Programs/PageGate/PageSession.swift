package import LoopbackHTTP

/// The session of the one browser that sent the code, in memory only.
package struct PageSession: Sendable {
  private let secret: String
  /// What every form of the pages sends back, so that no other page can send one.
  package let formToken: String
  private let cookieName: String

  /// - Parameters:
  ///   - secret: random; the value of the cookie.
  ///   - formToken: random, and another one.
  package init(secret: String, formToken: String, port: UInt16) {
    (self.secret, self.formToken) = (secret, formToken)
    // A browser sends a host's cookies to all its ports: with the port in its name, two servers keep theirs apart.
    cookieName = "lanyard-\(port)"
  }

  /// The value of `Set-Cookie`. It ends with the browser, or with this program.
  package var cookie: String { "\(cookieName)=\(secret); Path=/; HttpOnly; SameSite=Strict" }

  /// Whether the request has this session's cookie.
  package func belongs(to request: HTTPRequest) -> Bool {
    var isOurs = false
    for field in request.headers where field.name.lowercased() == "cookie" {
      for pair in field.value.split(separator: ";") {
        let text = pair.drop { $0 == " " }
        guard text.hasPrefix(cookieName + "=") else { continue }
        // Another program at this host may have set one of the same name.
        if ConstantTime.equal(Array(text.utf8.dropFirst(cookieName.utf8.count + 1)), Array(secret.utf8)) {
          isOurs = true
        }
      }
    }
    return isOurs
  }

  /// Whether the form was made by a page of this session.
  package func made(_ form: FormFields) -> Bool {
    ConstantTime.equal(Array((form["token"] ?? "").utf8), Array(formToken.utf8))
  }
}
