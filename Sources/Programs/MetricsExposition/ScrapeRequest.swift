/// A scraper's request, from bytes that come in any pieces. Pure: the caller owns the socket.
///
/// It takes a head without a body and answers one request for each connection. Whatever follows the head is not read.
public struct ScrapeRequest: Sendable {
  public enum Progress: Hashable, Sendable {
    case needsMore
    case complete(Answer)
  }

  /// What is answered.
  public enum Answer: Hashable, Sendable {
    /// `hasBody` is false for HEAD.
    case figures(ExpositionFormat, hasBody: Bool)
    case refused(status: Int)
  }

  /// Many times what scrapers and proxies send.
  public static let mostBytes = 16 << 10

  private var head: [UInt8] = []

  public init() {}

  public mutating func receive(_ bytes: some Sequence<UInt8>) -> Progress {
    let searched = max(0, head.count - 3)
    head += bytes
    guard let end = endOfHead(from: searched) else {
      return head.count > Self.mostBytes ? .complete(.refused(status: 431)) : .needsMore
    }
    guard end <= Self.mostBytes else { return .complete(.refused(status: 431)) }
    return .complete(Self.answer(to: head[..<end]))
  }

  /// The index after CR LF CR LF.
  private func endOfHead(from start: Int) -> Int? {
    guard head.count >= 4 else { return nil }
    return (start...head.count - 4).first { head[$0...].starts(with: [13, 10, 13, 10]) }.map { $0 + 4 }
  }

  private static func answer(to head: ArraySlice<UInt8>) -> Answer {
    guard let lines = lines(of: head), let first = lines.first else { return .refused(status: 400) }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, words[1].hasPrefix("/") || words[1].hasPrefix("http://") else {
      return .refused(status: 400)
    }
    guard ["HTTP/1.1", "HTTP/1.0"].contains(words[2]) else {
      return .refused(status: words[2].hasPrefix("HTTP/") ? 505 : 400)
    }
    var accepts: [String] = []
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex,
        !line[..<colon].contains(where: \.isWhitespace)
      else { return .refused(status: 400) }
      if line[..<colon].lowercased() == "accept" { accepts.append(String(line[line.index(after: colon)...])) }
    }
    guard path(of: words[1]) == "/metrics" else { return .refused(status: 404) }
    guard words[0] == "GET" || words[0] == "HEAD" else { return .refused(status: 405) }
    return .figures(
      ExpositionFormat(accept: accepts.isEmpty ? nil : accepts.joined(separator: ",")), hasBody: words[0] == "GET")
  }

  /// Nil for bytes that no head has: bare line ends, other control characters.
  private static func lines(of head: ArraySlice<UInt8>) -> [Substring]? {
    guard head.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 13 || $0 == 10 || $0 == 9 }) else { return nil }
    // "\r\n" is one character.
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
    return lines.contains { $0.unicodeScalars.contains("\r") || $0.unicodeScalars.contains("\n") } ? nil : lines
  }

  /// Without the query, and without the authority of an absolute URL.
  private static func path(of target: Substring) -> Substring {
    var rest = target
    if rest.hasPrefix("http://") {
      rest = rest.dropFirst("http://".count)
      rest = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
    }
    return rest.prefix { $0 != "?" && $0 != "#" }
  }
}

extension ScrapeRequest.Answer {
  /// The whole answer; `page` is asked for only if it is needed.
  public func bytes(_ page: () -> FigurePage) -> [UInt8] {
    switch self {
    case .figures(let format, let hasBody):
      let body = Array(page().text(format).utf8)
      return Self.head(200, "OK", format.contentType, body.count) + (hasBody ? body : [])
    case .refused(let status):
      let reason = Self.reasons[status] ?? "Error"
      let body = Array("\(reason).\(status == 404 ? " The figures are at /metrics." : "")\n".utf8)
      return Self.head(status, reason, "text/plain; charset=utf-8", body.count) + body
    }
  }

  private static let reasons = [
    400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
    431: "Request Header Fields Too Large", 505: "HTTP Version Not Supported",
  ]

  private static func head(_ status: Int, _ reason: String, _ type: String, _ length: Int) -> [UInt8] {
    let allow = status == 405 ? "Allow: GET, HEAD\r\n" : ""
    return Array(
      """
      HTTP/1.1 \(status) \(reason)\r
      Content-Type: \(type)\r
      Content-Length: \(length)\r
      \(allow)Cache-Control: no-store\r
      X-Content-Type-Options: nosniff\r
      Connection: close\r
      \r

      """.utf8)
  }
}
