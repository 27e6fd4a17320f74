package import LoopbackHTTP

/// Which requests of a browser are served (docs/page-security.md). Pure: it does no I/O and keeps no state.
package struct PageGate: Sendable {
  private let hosts: Set<String>
  private let isAsset: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - port: at which this server listens, of 127.0.0.1.
  ///   - isAsset: whether a path is one that every browser may load: style, script, icon.
  package init(port: UInt16, isAsset: @escaping @Sendable (String) -> Bool) {
    hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    self.isAsset = isAsset
  }

  /// What the request wants.
  ///
  /// - Parameter session: nil as long as no browser has sent the code.
  /// - Throws: why it gets nothing.
  package func admit(_ request: HTTPRequest, session: PageSession?) throws(GateRefusal) -> PageRoute {
    // A name of another site may be made to lead here (DNS rebinding): its requests say that name. An absolute target must
    // name the same host (RFC 9112 section 3.2).
    guard let host = request.header("Host"), hosts.contains(host), request.targetAuthority ?? host == host else {
      throw .otherHost
    }
    guard !repeatsField(request) else { throw .malformed }
    guard comesFromHere(request, host) else { throw .otherSite }
    guard request.method == "GET" || request.method == "POST" else { throw .otherMethod }
    guard request.header("Upgrade") == nil else { throw .upgrade }
    if request.method == "POST" { return try posted(request, session) }
    guard request.body.isEmpty else { throw .malformed }
    return try asked(request, session)
  }

  /// The fields that decide here, besides `Host`, which the listener takes once. Of two, another reader may take the other one.
  /// Two `Cookie` fields do no harm: the session's value counts wherever it stands.
  private static let singleFields: Set<String> = ["origin", "sec-fetch-site", "content-type"]

  private func repeatsField(_ request: HTTPRequest) -> Bool {
    let names = request.headers.map { $0.name.lowercased() }.filter(Self.singleFields.contains)
    return Set(names).count < names.count
  }

  /// No other site's page made the request. A browser says so by two fields that no script can set; programs and old browsers
  /// send neither.
  private func comesFromHere(_ request: HTTPRequest, _ host: String) -> Bool {
    let site = request.header("Sec-Fetch-Site")
    // `none`: the person opened the address, which posts no form.
    let allowed: Set<String> = request.method == "POST" ? ["same-origin"] : ["same-origin", "none"]
    guard site.map(allowed.contains) ?? true else { return false }
    switch request.header("Origin") {
    case nil, "http://\(host)": return true
    // Fetch Standard, "append a request Origin header": with `Referrer-Policy: no-referrer` a form says `null` of its own
    // server, too.
    case "null": return site == "same-origin"
    default: return false
    }
  }

  private func asked(_ request: HTTPRequest, _ session: PageSession?) throws(GateRefusal) -> PageRoute {
    if request.path == "/open" { return .opening }
    if isAsset(request.path) { return .asset(request.path) }
    // An action is no page: nothing changes by loading an address.
    if request.path.hasPrefix("/do/") { throw .otherMethod }
    guard let session, session.belongs(to: request) else { throw .noSession }
    guard let query = FormFields(request.query.utf8, lines: .none) else { throw .malformed }
    switch request.path {
    case "/": return .start
    case "/live": return .live(page: query["page"] ?? "")
    default: return .page(request.path, query: query.values)
    }
  }

  private func posted(_ request: HTTPRequest, _ session: PageSession?) throws(GateRefusal) -> PageRoute {
    guard request.path == "/open" || request.path.hasPrefix("/do/") else {
      throw isAsset(request.path) ? .otherMethod : .notFound
    }
    let type = request.header("Content-Type")?.split(separator: ";").first
    guard type?.lowercased() == "application/x-www-form-urlencoded" else { throw .noForm }
    guard request.query.isEmpty, let form = FormFields(request.body, lines: .allowed) else { throw .malformed }
    if request.path == "/open" { return .redeem(code: form["code"] ?? "") }
    guard let session, session.belongs(to: request) else { throw .noSession }
    guard session.made(form) else { throw .otherForm }
    return .action(String(request.path.dropFirst("/do/".count)), form: form.values)
  }
}
