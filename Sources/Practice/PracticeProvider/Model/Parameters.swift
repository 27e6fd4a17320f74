import LoopbackHTTP

/// The parameters of an OAuth request. RFC 6749 section 3.1: a parameter without a value counts as absent, and none may
/// be repeated except `resource` (RFC 8707 section 2).
struct Parameters {
  private let items: [(name: String, value: String)]

  init(_ items: [(name: String, value: String)]) throws(OAuthError) {
    self.items = items.filter { !$0.value.isEmpty }
    var seen: Set<String> = []
    for item in self.items where item.name != "resource" {
      guard seen.insert(item.name).inserted else { throw .invalidRequest("\(item.name) is there twice") }
    }
  }

  /// The parameters of a POST with a form.
  init(formOf request: HTTPRequest) throws(OAuthError) {
    guard request.method == "POST" else {
      throw OAuthError(code: "invalid_request", status: 405, headers: [("Allow", "POST")])
    }
    try self.init(request.formItems)
  }

  subscript(name: String) -> String? { items.first { $0.name == name }?.value }

  func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  func required(_ name: String) throws(OAuthError) -> String {
    guard let value = self[name] else { throw .invalidRequest("\(name) is missing") }
    return value
  }

  /// `scope` as a list (RFC 6749 section 3.3), without repetitions, in the order given.
  var scopes: [String]? {
    self["scope"].map { text in
      text.split(separator: " ").map(String.init).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
  }

  /// The wanted scopes, each of which the provider offers, to this client too.
  func scopes(offeredTo client: PracticeClient, of offered: [String]) throws(OAuthError) -> [String] {
    let wanted = scopes ?? (offered.contains("openid") ? ["openid"] : [])
    for scope in wanted where !offered.contains(scope) || client.scopes.map({ !$0.contains(scope) }) ?? false {
      throw OAuthError(code: "invalid_scope", description: "\(scope) is not offered")
    }
    return wanted
  }

  /// RFC 6749 section 6: no scope that was not granted.
  func scopes(within granted: [String]) throws(OAuthError) -> [String] {
    guard let wanted = scopes else { return granted }
    guard wanted.allSatisfy(granted.contains) else {
      throw OAuthError(code: "invalid_scope", description: "more than was granted")
    }
    return wanted
  }

  /// RFC 8707 section 2: absolute URIs without a fragment, allowed for this client and covered by the grant.
  func resources(of client: PracticeClient, within granted: [String] = []) throws(OAuthError) -> [String] {
    let wanted = all("resource")
    if wanted.isEmpty { return granted }
    for resource in wanted {
      guard let colon = resource.firstIndex(of: ":"), colon != resource.startIndex, !resource.contains("#"),
        client.resources?.contains(resource) ?? true, granted.isEmpty || granted.contains(resource)
      else { throw OAuthError(code: "invalid_target", description: "not a resource of this client") }
    }
    return wanted
  }
}
