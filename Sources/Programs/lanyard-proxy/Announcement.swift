import AgentCore
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
    if case .sandbox = place { return "http://127.0.0.1:\(Listener.sandboxPort)" }
    guard case .port(let port) = place, let secret else { return nil }
    return "http://\(ProxySecret.user):\(secret.text)@127.0.0.1:\(port)"
  }

  private var placeholders: [(name: String, value: String)] {
    scope.placeholders.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  func printJSON() {
    var writer = JSONWriter()
    writer.beginObject()
    switch place {
    case .port(let port): writer.member("address", "127.0.0.1:\(port)")
    case .socket(let path): writer.member("socket", path)
    case .sandbox: writer.member("address", "127.0.0.1:\(Listener.sandboxPort)")
    }
    if let url { writer.member("url", url) }
    if let certificate { writer.member("certificate", certificate) }
    if let grant = scope.grant { writer.member("grant", grant.client) }
    writer.member("accounts", scope.accounts.filter { !$0.origins.all.isEmpty }.map(\.id))
    writer.member("origins", scope.origins.all)
    if !scope.passes.isEmpty { writer.member("passOrigins", scope.passes.texts) }
    if !placeholders.isEmpty {
      writer.key("placeholders")
      writer.beginObject()
      for (name, value) in placeholders {
        writer.key(name)
        writer.string(value)
      }
      writer.endObject()
    }
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }

  func printText() {
    switch place {
    case .port, .sandbox: Output.answer("https_proxy=\(url ?? "")")
    case .socket(let path): Output.answer("socket=\(path)")
    }
    if let certificate { Output.answer("SSL_CERT_FILE=\(certificate)") }
    for (name, value) in placeholders { Output.answer("\(name)=\(value)") }
    let names = scope.accounts.filter { !$0.origins.all.isEmpty }.map(\.label).joined(separator: ", ")
    let subject = scope.grant.map { "the grant \($0.client)" } ?? "no grant"
    if !scope.origins.all.isEmpty {
      Output.note(Text.shown("Forwards with tokens of \(names), under \(subject), to:"))
      for origin in scope.origins.all { Output.note(Text.shown("  \(origin)")) }
    }
    if !scope.passes.isEmpty {
      Output.note("Lets programs pass without a token, and does not read what they send, to:")
      for origin in scope.passes.named.sorted() { Output.note(Text.shown("  \(origin)")) }
      if scope.passes.isAny { Output.note("  * (every server with a public address that no account serves)") }
    }
    if scope.grant == nil {
      Output.note(
        "Without --grant a program that uses this proxy can do at these origins all that you can. Ctrl-C ends the proxy."
      )
    }
  }
}
