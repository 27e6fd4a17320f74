internal import AgentCore
internal import AgentModel

/// The handshake that turns a connection into a WebSocket (RFC 6455 section 4).
enum WebSocketHandshake {
  /// How the names of its fields begin.
  static let prefix = "sec-websocket-"

  /// True for a handshake, false for a request that changes no protocol.
  ///
  /// - Throws: for any other upgrade. `h2c` alone is none: RFC 9110 section 7.8 lets a server ignore it, and libraries that offer
  ///   HTTP/2 so go on without it.
  static func isAsked(by head: RequestHead) throws(Refusal) -> Bool {
    let named = head.values("upgrade")
    if named.isEmpty { return false }
    let options = head.values("connection").flatMap { FieldSyntax.tokens(of: $0) }
    if head.isHTTP11, head.method == "GET", head.framing == .none, options.contains("upgrade"),
      named.map({ $0.lowercased() }) == ["websocket"], head.values("sec-websocket-version") == ["13"],
      head.value("sec-websocket-key")?.utf8.count == 24
    {
      return true
    }
    let upgrades = named.flatMap { FieldSyntax.tokens(of: $0) }
    guard !upgrades.isEmpty, upgrades.allSatisfy({ $0 == "h2c" }) else {
      throw Refusal(501, "upgradeRefused", "The proxy forwards no other upgrade of a connection than to a WebSocket.")
    }
    return false
  }

  /// What goes on of its fields. No extension does: compressed messages can't be looked into. Nor does a protocol in whose
  /// name a server takes a credential or a person, as browsers can send them nowhere else.
  static func fields(of head: RequestHead, under names: RequestNames) -> [(name: String, value: String)] {
    var fields = [("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", head.value("sec-websocket-key") ?? "")]
    let protocols = head.values("sec-websocket-protocol").flatMap { $0.split(separator: ",") }
      .map { String($0.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()) }
      .filter { isPlain($0, under: names) }
    if !protocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", protocols.joined(separator: ", "))) }
    return fields
  }

  /// False for `access_token.…`, and for a credential that stands alone.
  private static func isPlain(_ name: String, under names: RequestNames) -> Bool {
    guard (1...mostNameBytes).contains(name.utf8.count), !name.hasPrefix(beginningOfJWT), !Placeholder.stands(in: name)
    else { return false }
    return switch names.field(name) {
    case .telling, .reserved: false
    case .plain, .hiding, .unknown: true
    }
  }

  /// The names of protocols are shorter (the registry of RFC 6455 section 11.5), and tokens are longer.
  private static let mostNameBytes = 64
  /// Base64 of `{"`.
  private static let beginningOfJWT = "eyJ"
}

/// The head of a server's answer to a handshake.
public struct HandshakeAnswer: Sendable {
  public let status: Int
  public let fields: [(name: String, value: String)]
  /// The bytes behind the head.
  public let rest: [UInt8]

  /// The most bytes of a head.
  public static let mostBytes = 64 << 10

  /// Nil as long as the head is not whole.
  ///
  /// - Throws: for a head that can't be read.
  public init?(_ bytes: [UInt8]) throws(Refusal) {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else {
      guard bytes.count <= Self.mostBytes else { throw Self.malformed }
      return nil
    }
    do throws(Refusal) {
      var lines = try RequestHead.lines(bytes[..<end])
      guard !lines.isEmpty else { throw Self.malformed }
      let words = lines.removeFirst().split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
      guard words.count >= 2, words[0].elementsEqual("HTTP/1.1".utf8), words[1].count == 3,
        let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100,
        lines.count <= RequestHead.mostFields
      else { throw Self.malformed }
      var fields: [(name: String, value: String)] = []
      for line in lines { fields.append(try RequestHead.field(line)) }
      (self.status, self.fields, rest) = (status, fields, Array(bytes[end...]))
    } catch {
      throw Self.malformed
    }
  }

  static let malformed = Refusal(
    502, "malformedResponse", "The server's response can't be passed on: its head is malformed.")

  /// The values of a field, whose name is in lower case.
  public func values(_ name: String) -> [String] { fields.filter { $0.name.lowercased() == name }.map(\.value) }

  /// The server opened the WebSocket, without an extension.
  public var isOpen: Bool {
    status == 101 && values("upgrade").map { $0.lowercased() } == ["websocket"]
      && values("connection").contains { FieldSyntax.tokens(of: $0).contains("upgrade") }
      && values("sec-websocket-extensions").isEmpty
  }

  /// The head of an open WebSocket on the wire.
  public var bytes: [UInt8] {
    var text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    for (name, value) in fields {
      let lowercased = name.lowercased()
      guard !ResponseHead.dropped.contains(lowercased), !lowercased.hasPrefix("proxy-") else { continue }
      text += "\(name): \(value)\r\n"
    }
    return Array((text + "\r\n").utf8)
  }
}
