import AgentCore
import AgentModel
import ProxyCore
import Secrets
import Testing

struct WebSocketTests {
  private static let token = "an.access-token_0123456789"

  private func frame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) -> [UInt8] {
    let first = opcode | (isLast ? 0x80 : 0)
    let count = payload.count
    if count < 126 { return [first, UInt8(count)] + payload }
    if count <= 0xFFFF { return [first, 126, UInt8(count >> 8), UInt8(count & 255)] + payload }
    return [first, 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } + payload
  }

  /// What passes, and the outcome of the last piece.
  private func pass(_ bytes: [UInt8], pieces: Int = .max) -> (passed: [UInt8], outcome: WebSocketWatch.Outcome) {
    let token = Array(Self.token.utf8).withUnsafeBytes { Secret(copying: $0) }
    var watch = WebSocketWatch { TokenWatch([token]) }
    var passed: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(pieces))
      rest = rest.dropFirst(piece.count)
      let outcome = piece.withUnsafeBytes { bytes in
        watch.pass(bytes) { frame in
          passed += frame
          return true
        }
      }
      guard outcome == .passed else { return (passed, outcome) }
    }
    return (passed, .passed)
  }

  @Test(arguments: [1, 2, 3, 7, 1000]) func messagesPassWholeFromPiecesOfAnySize(pieces: Int) {
    let bytes =
      frame(1, Array("hello".utf8)) + frame(9, Array("ping".utf8)) + frame(2, [UInt8](repeating: 0x20, count: 300))
      + frame(1, []) + frame(8, [0x03, 0xE8])
    let (passed, outcome) = pass(bytes, pieces: pieces)
    #expect(outcome == .passed)
    #expect(passed == bytes)
  }

  @Test func fragmentsAreJoined_andControlFramesGoBetween() {
    let bytes =
      frame(1, Array("one ".utf8), isLast: false) + frame(10, [1]) + frame(0, Array("two".utf8))
      + frame(2, Array("next".utf8))
    let (passed, outcome) = pass(bytes)
    #expect(outcome == .passed)
    #expect(passed == frame(10, [1]) + frame(1, Array("one two".utf8)) + frame(2, Array("next".utf8)))
  }

  @Test func longMessage_passesInFragmentsWithAllOfItsBytes() {
    let payload = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 % 251 == 0 ? 0x0A : 0x21 + $0 % 5) }
    let (passed, outcome) = pass(frame(2, payload), pieces: 10_000)
    #expect(outcome == .passed)
    var (rest, joined, kinds) = (passed[...], [UInt8](), [UInt8]())
    while let first = rest.first {
      kinds.append(first)
      rest = rest.dropFirst()
      var count = UInt64(rest.removeFirst())
      if count >= 126 {
        let width = count == 126 ? 2 : 8
        count = rest.prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(width)
      }
      joined += rest.prefix(Int(count))
      rest = rest.dropFirst(Int(count))
    }
    #expect(joined == payload)
    #expect(kinds.first == 2 && kinds.last == 0x80 && kinds.count > 2)
    #expect(kinds.dropFirst().dropLast().allSatisfy { $0 == 0 })
  }

  @Test func tokenInAMessage_isFound() {
    let token = Array(Self.token.utf8)
    let (head, tail) = (Array(token.prefix(9)), Array(token.dropFirst(9)))
    for bytes in [
      frame(1, Array("you sent ".utf8) + token), frame(8, [3, 0xE8] + token), frame(9, token),
      frame(1, head, isLast: false) + frame(0, tail),
      frame(1, head, isLast: false) + frame(9, [0x20]) + frame(0, tail, isLast: false) + frame(0, []),
    ] {
      for pieces in [1, 5, 1000] {
        let (passed, outcome) = pass(frame(1, [0x21]) + bytes, pieces: pieces)
        #expect(outcome == .repeatsToken)
        #expect(!passed.contains(head) || passed.count < bytes.count)
      }
    }
  }

  @Test func framesThatNoServerSends_areMalformed() {
    for bytes: [UInt8] in [
      [0xC1, 0], [0xA1, 0], [0x91, 0], [0x81, 0x80, 0, 0, 0, 0], [0x83, 0], [0x8B, 0], [0x80, 0], [0x09, 0],
      [0x88, 126, 0, 126],
      [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], frame(1, [], isLast: false) + [0x81, 0],
    ] {
      #expect(pass(bytes).outcome == .malformed, "\(bytes)")
    }
  }

  private func asked(_ fields: [String], method: String = "GET") throws -> ForwardedRequest {
    let all = [
      "\(method) /chat HTTP/1.1", "Host: api.example", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket",
    ]
    let head = try requestHead((all + fields).joined(separator: "\r\n") + "\r\n\r\n")
    return try ForwardedRequest(head, tunnel: HTTPURL("https://api.example"), serverName: nil)
  }

  private let version = "Sec-WebSocket-Version: 13"
  private let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="

  @Test func handshake_goesOnWithoutExtensionsAndCredentials() throws {
    let request = try asked([
      version, key, "Sec-WebSocket-Extensions: permessage-deflate", "Origin: https://app.example", "Cookie: a=b",
      "Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0",
      "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sk-1, access_token.a, jwt, eyJhbGciOiJub25lIn0.e30.",
      "Sec-WebSocket-Protocol: sudo, \(String(repeating: "A", count: 65)), soap, wamp.2.json",
    ])
    #expect(request.isWebSocket)
    #expect(
      request.handshakeFields(under: RequestNames()).map { "\($0.name): \($0.value)" } == [
        version, key, "Sec-WebSocket-Protocol: v4.channel.k8s.io, realtime, soap, wamp.2.json",
      ])
    let fields = try request.fields(under: RequestNames())
    #expect(!fields.all.contains { $0.name.lowercased().hasPrefix("sec-websocket") || $0.name == "Cookie" })
  }

  @Test func otherUpgrades_areRefused() {
    for fields in [
      [version], [key], ["Sec-WebSocket-Version: 8", key], [version, "Sec-WebSocket-Key: short"],
      [version, key, "Content-Length: 1"],
    ] {
      #expect(throws: Refusal.self) { try asked(fields) }
    }
    #expect(throws: Refusal.self) { try asked([version, key], method: "POST") }
  }

  @Test func answer_isReadFromItsHead() throws {
    let text =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSet-Cookie: a=b\r\n"
      + "Sec-WebSocket-Accept: x\r\n\r\nrest"
    for count in 0..<(text.utf8.count - 5) { #expect(try HandshakeAnswer(Array(text.utf8.prefix(count))) == nil) }
    let answer = try #require(try HandshakeAnswer(Array(text.utf8)))
    #expect(answer.isOpen)
    #expect(answer.rest == Array("rest".utf8))
    #expect(
      String(decoding: answer.bytes, as: UTF8.self)
        == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"
    )
    for other in [
      "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
      "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
    ] {
      #expect(try HandshakeAnswer(Array(other.utf8))?.isOpen == false)
    }
    for malformed in ["HTTP/2 101 x\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 101 x\r\nA B: c\r\n\r\n"] {
      #expect(throws: Refusal.self) { try HandshakeAnswer(Array(malformed.utf8)) }
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ other: [UInt8]) -> Bool { firstRange(of: other) != nil }
}
