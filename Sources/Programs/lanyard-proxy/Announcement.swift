import CommandSupport
import JSONRPC
import ProxyCore

/// What the proxy prints once it listens: for `lanyard exec`, for scripts, or for the person.
struct Announcement {
  let place: Listener.Place
  let secret: ProxySecret?
  let certificate: String?
  let scope: ProxyScope

  private var url: String? {
    guard case .port(let port) = place, let secret else { return nil }
    return "http://\(ProxySecret.user):\(secret.text)@127.0.0.1:\(port)"
  }

  func printJSON() {
    var writer = JSONWriter()
    writer.beginObject()
    switch place {
    case .port(let port): writer.member("address", "127.0.0.1:\(port)")
    case .socket(let path): writer.member("socket", path)
    }
    if let url { writer.member("url", url) }
    if let certificate { writer.member("certificate", certificate) }
    if let grant = scope.grant { writer.member("grant", grant.client) }
    writer.member("accounts", scope.accounts.filter { !$0.origins.all.isEmpty }.map(\.id))
    writer.member("origins", scope.origins.all)
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }

  func printText() {
    switch place {
    case .port: Output.answer("https_proxy=\(url ?? "")")
    case .socket(let path): Output.answer("socket=\(path)")
    }
    if let certificate { Output.answer("SSL_CERT_FILE=\(certificate)") }
    let names = scope.accounts.filter { !$0.origins.all.isEmpty }.map(\.label).joined(separator: ", ")
    let subject = scope.grant.map { "the grant \($0.client)" } ?? "no grant"
    Output.note(Text.shown("Forwards with tokens of \(names), under \(subject), to:"))
    for origin in scope.origins.all { Output.note(Text.shown("  \(origin)")) }
    if scope.grant == nil {
      Output.note(
        "Without --grant a program that uses this proxy can do at these origins all that you can. Ctrl-C ends the proxy."
      )
    }
  }
}
