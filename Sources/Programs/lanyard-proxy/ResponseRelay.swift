import CurlTransfers
import ProxyCore
import Secrets

/// Passes a server's response on to the client, and looks for the token in it.
final class ResponseRelay {
  enum State {
    /// Nothing has gone to the client: it can be told anything.
    case waiting
    /// The response is kept until its end: a short one, or a 401 that may be answered by another token.
    case keeping(ResponseHead)
    /// The head has gone to the client.
    case relaying(ResponseHead)
  }

  private let client: ClientStream
  private let request: RequestHead
  private var watch: TokenWatch
  private(set) var state = State.waiting
  /// Why the response was cut off.
  private(set) var refusal: Refusal?
  /// `WWW-Authenticate` and `DPoP-Nonce` of a 401.
  private(set) var challenge: String?
  private(set) var nonce: String?
  /// The connection must end after this response.
  private(set) var closes: Bool
  /// In guarded memory, since it may repeat a token.
  private var kept = SecretBuilder(isPassing: true)
  private let keepsRefusal: Bool
  private let mayKeepAlive: () -> Bool

  /// So long a response is kept whole, so that a token in it is told before anything has gone on.
  private static let mostKept = 64 << 10

  /// - Parameters:
  ///   - keepsRefusal: a 401 is kept, since the request can be sent again.
  ///   - mayKeepAlive: the client has sent all of its request.
  init(
    _ client: ClientStream, _ request: RequestHead, _ tokens: [Secret], keepsRefusal: Bool,
    mayKeepAlive: @escaping () -> Bool
  ) {
    self.client = client
    self.request = request
    self.keepsRefusal = keepsRefusal
    self.mayKeepAlive = mayKeepAlive
    watch = TokenWatch(tokens)
    closes = !request.keepsAlive
  }

  /// The status of the response; nil before it came.
  var status: Int? {
    switch state {
    case .waiting: nil
    case .keeping(let head), .relaying(let head): head.status
    }
  }

  func take(_ received: ReceivedHead) -> Bool {
    guard let head = ResponseHead(status: received.status, fields: received.fields) else {
      refusal = Refusal(502, "malformedResponse", "The server's response can't be passed on: its head is malformed.")
      return false
    }
    guard !head.fields.contains(where: { watch.occurs(in: $0.name) || watch.occurs(in: $0.value) }) else {
      refusal = Self.repeated
      return false
    }
    guard !head.isCoded || !head.hasBody(to: request.method) else {
      refusal = Refusal(
        502, "codedResponse",
        "The server compressed its response although it was asked not to, so the proxy could not look into it.")
      return false
    }
    if head.status == 401 {
      challenge = received.values("www-authenticate").joined(separator: ", ")
      nonce = received.field("dpop-nonce")
    }
    let isShort = head.hasBody(to: request.method) && head.length.map { $0 <= Int64(Self.mostKept) } ?? false
    guard isShort || head.status == 401 && keepsRefusal else { return begin(head) }
    state = .keeping(head)
    return true
  }

  func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    guard case .keeping(let head) = state else { return pass(piece, isLast: false) }
    kept.append(piece)
    return kept.count <= Self.mostKept || begin(head)
  }

  /// The response was received to its end. False if the client did not get it all, or must not.
  func finish() -> Bool {
    if case .keeping(let head) = state {
      guard head.length.map({ $0 == Int64(kept.count) }) ?? true || !head.hasBody(to: request.method) else {
        return false
      }
      // Before its head: a token in it is told in place of the response.
      guard !kept.withBytes({ watch.occurs(in: $0) }) else {
        refusal = Self.repeated
        return false
      }
      guard begin(head, isWhole: true) else { return false }
    }
    guard case .relaying(let head) = state else { return false }
    guard pass(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true) else { return false }
    return head.framing(to: request) != .chunked || client.write(Array("0\r\n\r\n".utf8))
  }

  static let repeated = Refusal(
    502, "tokenInResponse", "The server's response repeats an access token, so it was not passed on.")

  /// Sends the head, and what was kept of the body.
  private func begin(_ head: ResponseHead, isWhole: Bool = false) -> Bool {
    let framing = head.framing(to: request)
    closes = closes || framing == .untilClose || !mayKeepAlive()
    state = .relaying(head)
    defer { kept = SecretBuilder(isPassing: true) }
    var bytes = head.bytes(to: request, closes: closes)
    // One packet for a short response, whose token `finish` has looked for.
    if isWhole, framing == .length(Int64(kept.count)) {
      kept.withBytes { bytes += $0 }
      return client.write(bytes)
    }
    guard client.write(bytes) else { return false }
    return kept.count == 0 || kept.withBytes { pass($0, isLast: false) }
  }

  private func pass(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
    guard case .relaying(let head) = state else { return false }
    let isChunked = head.framing(to: request) == .chunked
    guard head.hasBody(to: request.method) else { return true }
    var isWritten = true
    let isClean = watch.pass(piece, isLast: isLast) { bytes in
      isWritten = isChunked ? writeChunk(bytes) : client.write(bytes)
      return isWritten
    }
    if !isClean, isWritten { refusal = Self.repeated }
    return isClean
  }

  private func writeChunk(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var chunk = Array((String(bytes.count, radix: 16) + "\r\n").utf8)
    chunk.reserveCapacity(chunk.count + bytes.count + 2)
    chunk += bytes
    chunk += [0x0D, 0x0A]
    return client.write(chunk)
  }
}
