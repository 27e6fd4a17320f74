import AgentCore
import AgentModel
import ProxyCore
import Testing

/// The placeholder of an account never goes on where its secret stands, and nothing else of the request changes.
struct PlaceholderTests {
  private let tunnel = HTTPURL("https://api.example")!
  private let account = AccountID(bytes: [UInt8](repeating: 7, count: AccountID.byteCount))!.text
  private var placeholder: String { Placeholder.text(for: account) }

  private func forwarded(_ target: String, _ fields: [String] = [], paths: [String] = []) throws -> ForwardedRequest {
    let lines = ["GET \(target) HTTP/1.1", "Host: api.example"] + fields
    return try ForwardedRequest(
      requestHead(lines.joined(separator: "\r\n") + "\r\n\r\n"), tunnel: tunnel, serverName: "api.example",
      secretPaths: paths.map { SecretTemplate($0)! })
  }

  @Test func textIsTheAccountsIDAlone() {
    #expect(placeholder == "lanyard-" + account)
  }

  @Test("A field with a placeholder stays behind, also one that the person allowed, and nobody is told")
  func fields() throws {
    let basic = "Basic dXNlcjpsYW55YXJk"
    let request = try forwarded(
      "/v1/models",
      [
        "Authorization: Bearer \(placeholder)", "X-Api-Key: \(placeholder)", "X-Custom-Key: Token token=\(placeholder)",
        "Proxy-Authorization: \(basic)", "Accept: text/plain", "X-Request-Id: lanyard-acc_short",
      ])
    let fields = try request.fields(under: RequestNames(allowed: ["X-Api-Key", "X-Custom-Key"]))
    #expect(fields.all.map(\.name) == ["Accept", "X-Request-Id"])
    #expect(fields.leftOut.isEmpty)
  }

  @Test("A parameter with a placeholder is taken out of the URL that is judged and sent")
  func query() throws {
    let names = RequestNames(placing: .query(name: "key"))
    for (target, left) in [
      ("/v1/models?key=\(placeholder)", "/v1/models"), ("/v1?a=1&key=\(placeholder)&b=2", "/v1?a=1&b=2"),
      ("/v1?key=\(placeholder)&", "/v1?"), ("/v1?appid=\(placeholder)&access_token=\(placeholder)", "/v1"),
      ("/v1?", "/v1?"), ("/v1?a=lanyard-acc_1", "/v1?a=lanyard-acc_1"),
    ] {
      let request = try forwarded(target)
      _ = try request.fields(under: names)
      #expect(request.url.text == "https://api.example" + left, "\(target)")
    }
  }

  @Test("A credential of the program's own in the URL is still refused")
  func ownCredential() throws {
    for value in ["own", placeholder + "x", "x" + placeholder, "1;key=" + placeholder] {
      let request = try forwarded("/v1?key=" + value)
      let names = RequestNames(placing: .query(name: "key"))
      #expect(throws: Refusal.self, "\(value)") { try request.fields(under: names) }
    }
  }

  @Test("A placeholder before the path is taken out where an account has its secret")
  func path() throws {
    let paths = ["/bot{secret}", "/hooks/{secret}/in"]
    for (target, left) in [
      ("/bot\(placeholder)/getMe", "/getMe"), ("/bot\(placeholder)", "/"), ("/hooks/\(placeholder)/in/a?b=c", "/a?b=c"),
      ("/bot\(placeholder)x/getMe", nil), ("/bot\(placeholder)/", "/"), ("/hooks/\(placeholder)", nil),
      ("/a/bot\(placeholder)/getMe", nil), ("/getMe", nil),
    ] {
      #expect(try forwarded(target, paths: paths).url.text == "https://api.example" + (left ?? target), "\(target)")
    }
    #expect(try forwarded("/bot\(placeholder)/getMe").url.path == "/bot\(placeholder)/getMe")
  }

  @Test("A parameter with a placeholder is taken out of a form, and nothing else")
  func form() {
    func left(_ form: String) -> String? {
      Array(form.utf8).withUnsafeBytes { Placeholder.removed(fromForm: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(left("token=\(placeholder)&text=spring&token=\(placeholder)") == "text=spring")
    #expect(left("a=1&token=\(placeholder)&&b") == "a=1&&b")
    #expect(left("token=\(placeholder)") == "")
    for form in ["", "a=b", "token=x\(placeholder)", "token=\(placeholder)x", placeholder, "a=1;token=\(placeholder)"] {
      #expect(left(form) == nil, "\(form)")
    }
  }

  @Test("A subprotocol with a placeholder is left out of a WebSocket's handshake")
  func webSocket() throws {
    let request = try forwarded(
      "/ws",
      [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: chat, key.\(placeholder), \(placeholder)",
      ])
    let fields = request.handshakeFields(under: RequestNames())
    #expect(fields.first { $0.name == "Sec-WebSocket-Protocol" }?.value == "chat")
  }
}
