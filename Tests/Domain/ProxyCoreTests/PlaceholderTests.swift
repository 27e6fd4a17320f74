import AgentCore
import AgentModel
import ProxyCore
import Testing

/// The placeholder of an account never goes on where its secret stands, and nothing else of the request changes.
struct PlaceholderTests {
  private let tunnel = HTTPURL("https://api.example")!
  private let account = AccountID(bytes: [UInt8](repeating: 7, count: AccountID.byteCount))!.text
  private var placeholder: String { Placeholder.text(for: account) }
  /// The same with its `_` as an escape.
  private var escaped: String { placeholder.split(separator: "_").joined(separator: "%5F") }

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
      ("/v1?key=\(escaped)", "/v1"), ("/v1?key=Bearer+\(placeholder)", "/v1"),
      ("/v1?key=Bearer%20\(escaped)&a=%FF", "/v1?a=%FF"), ("/v1?a=1&key=token%20\(placeholder)", "/v1?a=1"),
      ("/v1?a=1;key=\(placeholder);b=2&c=3", "/v1?a=1;b=2&c=3"), ("/v1?key=\(placeholder);a=1&b=2", "/v1?a=1&b=2"),
    ] {
      let request = try forwarded(target)
      _ = try request.fields(under: names)
      #expect(request.url.text == "https://api.example" + left, "\(target)")
    }
  }

  @Test("A parameter of the path with a placeholder is taken out of the URL that is judged and sent")
  func parameterOfThePath() throws {
    let names = RequestNames(placing: .query(name: "key"))
    for (target, left) in [
      ("/a;key=\(placeholder)/x", "/a/x"), ("/a;v=1;key=Bearer%20\(escaped);b/x?c=d", "/a;v=1;b/x?c=d"),
      ("/a;key=\(placeholder)", "/a"), ("/a;v=1/b;key=\(placeholder)?key=\(placeholder)", "/a;v=1/b"),
    ] {
      let request = try forwarded(target)
      _ = try request.fields(under: names)
      #expect(request.url.text == "https://api.example" + left, "\(target)")
    }
    let own = try forwarded("/a;key=\(placeholder)x/b")
    #expect(throws: Refusal.self) { try own.fields(under: names) }
  }

  @Test("A credential of the program's own in the URL is still refused")
  func ownCredential() throws {
    for value in [
      "own", placeholder + "x", "x" + placeholder, "1;key=" + placeholder, "a+b+" + placeholder,
      "a=b%20" + placeholder,
    ] {
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
      ("/a/bot\(placeholder)/getMe", nil), ("/getMe", nil), ("/bot\(escaped)/getMe", "/getMe"),
      ("/hooks/\(escaped)/in", "/"), ("/bot\(placeholder);key=\(placeholder)/x", "/x"),
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
    #expect(left("a=1;token=\(placeholder);b=2&c") == "a=1;b=2&c")
    #expect(left("token=\(placeholder);a=1") == "a=1")
    #expect(left("a=%&token=\(escaped)") == "a=%")
    #expect(left("token=Bearer+\(placeholder)&a=1") == "a=1")
    #expect(left("token=token%20\(escaped)") == "")
    for form in [
      "", "a=b", "token=x\(placeholder)", "token=\(placeholder)x", placeholder, "token=a+b+\(placeholder)",
      "token=%\(placeholder)", "token=%22x%22+\(placeholder)",
    ] {
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
