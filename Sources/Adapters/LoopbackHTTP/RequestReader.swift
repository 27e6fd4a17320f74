/// Parses one request from bytes that come in any pieces. Pure: the caller owns the socket.
///
/// Strict where leniency has been a hole (RFC 9112 section 11.2): bare LF, folded lines, a space before the colon,
/// two lengths, a length together with a transfer coding, are all refused.
package struct RequestReader {
  package enum Progress {
    case needsMore
    /// The head is complete, and the client waits for `100 Continue` before it sends the body (RFC 9110 section
    /// 10.1.1).
    case expectsContinue
    case request(HTTPRequest)
    /// The status to respond with before closing.
    case refused(Int)
  }

  static let maximumHeaders = 100

  let maximumBodyBytes: Int
  let maximumHeadBytes: Int
  private var buffer: [UInt8] = []
  private var searched = 0
  private var head: (request: HTTPRequest, bodyBytes: Int)?

  private let keepsQueryApart: Bool

  /// - Parameter keepsQueryApart: the query becomes `secretQuery` of the request.
  package init(
    maximumBodyBytes: Int, maximumHeadBytes: Int = LoopbackListener.usualHeadBytes, keepsQueryApart: Bool = false
  ) {
    self.maximumBodyBytes = maximumBodyBytes
    self.maximumHeadBytes = maximumHeadBytes
    self.keepsQueryApart = keepsQueryApart
    // No part of a head is moved, which would leave a copy behind.
    buffer.reserveCapacity(maximumHeadBytes * 2)
  }

  /// Overwrites what was received.
  mutating func wipe() { buffer.wipe(first: buffer.count) }

  package mutating func receive(_ bytes: some Collection<UInt8>) -> Progress {
    buffer += bytes
    guard head == nil else { return bodyProgress() }
    guard let end = endOfHead() else {
      return buffer.count > maximumHeadBytes ? .refused(431) : .needsMore
    }
    guard end <= maximumHeadBytes else { return .refused(431) }
    do {
      let request = try parseHead(buffer[..<end])
      let length = try Self.bodyLength(of: request)
      guard length <= maximumBodyBytes else { return .refused(413) }
      head = (request, length)
      // What follows the head moves to its place; nothing of the head stays behind that.
      buffer.wipe(first: end)
      buffer.removeSubrange(..<end)
    } catch {
      return .refused(error.status)
    }
    let progress = bodyProgress()
    if case .needsMore = progress, head?.request.header("Expect")?.equalsIgnoringCase("100-continue") == true {
      return .expectsContinue
    }
    return progress
  }

  private mutating func bodyProgress() -> Progress {
    guard let head, buffer.count >= head.bodyBytes else { return .needsMore }
    var request = head.request
    // One request for each connection: bytes beyond it are never read as a second one.
    request.body = Array(buffer[..<head.bodyBytes])
    return .request(request)
  }

  /// The index after CR LF CR LF; each search continues where the last one ended.
  private mutating func endOfHead() -> Int? {
    var index = max(searched, 3)
    while index < buffer.count {
      if buffer[index] == 0x0A && buffer[index - 1] == 0x0D && buffer[index - 2] == 0x0A && buffer[index - 3] == 0x0D {
        return index + 1
      }
      index += 1
    }
    searched = buffer.count
    return nil
  }
}

extension RequestReader {
  struct Refusal: Error { let status: Int }

  private func parseHead(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> HTTPRequest {
    var lines = try Self.splitLines(bytes)
    guard !lines.isEmpty else { throw Refusal(status: 400) }
    let first = lines.removeFirst()
    guard lines.count <= Self.maximumHeaders else { throw Refusal(status: 431) }

    var words = first.split(separator: 0x20, omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(Self.isTokenByte), !words[1].isEmpty,
      words[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw Refusal(status: 400) }
    let version = String(decoding: words[2], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
      throw Refusal(status: version.hasPrefix("HTTP/") ? 505 : 400)
    }

    var secretQuery: WipedBytes?
    if keepsQueryApart {
      words[1] = words[1].prefix { $0 != UInt8(ascii: "#") }
      let mark = words[1].firstIndex(of: UInt8(ascii: "?")) ?? words[1].endIndex
      secretQuery = WipedBytes(copying: words[1][mark...].dropFirst())
      words[1] = words[1][..<mark]
    }
    let target = RequestTarget(String(decoding: words[1], as: UTF8.self))
    guard target.path.hasPrefix("/") || target.path == "*" else { throw Refusal(status: 400) }
    var headers: [(name: String, value: String)] = []
    for line in lines { headers.append(try Self.parseField(line)) }
    var request = HTTPRequest(
      method: String(decoding: words[0], as: UTF8.self),
      path: target.path,
      query: target.query,
      headers: headers
    )
    request.secretQuery = secretQuery
    request.targetAuthority = target.authority
    try Self.checkHost(request, authority: target.authority, isRequired: version == "HTTP/1.1")
    return request
  }

  private static func splitLines(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = bytes.startIndex
    for index in bytes.indices where bytes[index] == 0x0A {
      guard index > start, bytes[index - 1] == 0x0D else { throw Refusal(status: 400) }
      if index - 1 > start { lines.append(bytes[start..<(index - 1)]) }
      start = index + 1
    }
    return lines
  }

  private static func parseField(_ line: ArraySlice<UInt8>) throws(Refusal) -> (name: String, value: String) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy(isTokenByte)  // a folded line or a space before the colon ends here
    else { throw Refusal(status: 400) }
    var value = line[(colon + 1)...]
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw Refusal(status: 400) }
    return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  private static func bodyLength(of request: HTTPRequest) throws(Refusal) -> Int {
    let lengths = request.headers.filter { $0.name.equalsIgnoringCase("Content-Length") }
    if request.header("Transfer-Encoding") != nil {
      // RFC 9112 section 6.1: both together are an attempt to smuggle; for a coding alone the client is asked for a
      // length.
      throw Refusal(status: lengths.isEmpty ? 411 : 400)
    }
    guard let first = lengths.first else { return 0 }
    guard lengths.count == 1, !first.value.isEmpty, first.value.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { throw Refusal(status: 400) }
    return Int(first.value) ?? Int.max
  }

  /// DNS rebinding can make the name of another site resolve to 127.0.0.1. Its requests carry that name in Host, so a
  /// listener on loopback answers loopback names only.
  private static func checkHost(_ request: HTTPRequest, authority: String?, isRequired: Bool) throws(Refusal) {
    let hosts = request.headers.filter { $0.name.equalsIgnoringCase("Host") }
    guard hosts.count == 1 || hosts.isEmpty && !isRequired else { throw Refusal(status: 400) }
    for name in [authority, hosts.first?.value].compactMap({ $0 }) where !LoopbackAddress.isLoopback(authority: name) {
      throw Refusal(status: 421)
    }
  }

  /// `tchar` of RFC 9110 section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
