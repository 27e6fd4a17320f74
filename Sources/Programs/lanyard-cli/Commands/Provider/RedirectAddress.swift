import CommandSupport
import JSONRPC

/// `[HOST:]PORT[/PATH]`: the registered redirect address of a client.
struct RedirectAddress {
  let host: String?
  let port: Int
  let path: String?

  init(_ text: String) throws(CommandFailure) {
    let slash = text.firstIndex(of: "/") ?? text.endIndex
    path = slash == text.endIndex ? nil : String(text[slash...])
    let authority = text[..<slash]
    let colon = authority.lastIndex(of: ":")
    host = colon.map { String(authority[..<$0]) }
    guard let port = Int(colon.map { authority[authority.index(after: $0)...] } ?? authority), 0...65_535 ~= port,
      host?.isEmpty != true
    else {
      throw .usage("--redirect needs a port, with or without host and path: 8765, localhost:8765/callback.")
    }
    self.port = port
  }

  init(host: String?, port: Int) { (self.host, self.port, path) = (host, port, nil) }

  func write(to writer: inout JSONWriter) {
    writer.key("redirect")
    writer.beginObject()
    writer.member("host", host)
    writer.member("port", port)
    writer.member("path", path)
    writer.endObject()
  }
}
