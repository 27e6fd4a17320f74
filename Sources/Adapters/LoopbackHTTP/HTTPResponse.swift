/// A response to be sent. The listener adds the framing headers (`Content-Length`, `Connection`).
public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: [("Content-Type", "text/plain; charset=utf-8")],
      body: Array(text.utf8)
    )
  }

  public static func html(_ page: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", "text/html; charset=utf-8")], body: Array(page.utf8))
  }

  public static func redirect(to location: String, status: Int = 302) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Location", location)])
  }

  /// The first header of that name, case-insensitive.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.equalsIgnoringCase(name) }?.value
  }
}

extension HTTPResponse: CustomStringConvertible {
  public var description: String { "\(status) body=\(body.count)" }
}

extension HTTPResponse {
  func adding(_ further: [(name: String, value: String)]) -> HTTPResponse {
    var response = self
    response.headers += further
    return response
  }

  /// The response's bytes. Every connection carries one exchange, so `Connection: close` is always sent.
  func serialized(announcing length: Int? = nil, sendingBody: Bool = true, lengthKnown: Bool = true) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
    for (name, value) in headers
    where !name.equalsIgnoringCase("Content-Length") && !name.equalsIgnoringCase("Connection") {
      head += "\(name.withoutLineBreaks): \(value.withoutLineBreaks)\r\n"
    }
    // RFC 9110 section 8.6: 1xx and 204 have no Content-Length; that of a 304 would be the length of the 200.
    let mayHaveBody = status >= 200 && status != 204 && status != 304
    if mayHaveBody && lengthKnown { head += "Content-Length: \(length ?? body.count)\r\n" }
    head += "Connection: close\r\n\r\n"
    var bytes = Array(head.utf8)
    if mayHaveBody && sendingBody { bytes += body }
    return bytes
  }

  static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 421: "Misdirected Request"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: ""  // RFC 9112 section 4: the phrase may be empty
    }
  }
}

extension String {
  /// RFC 9110 section 5.5: CR, LF and NUL in a value would end the field; a space replaces each.
  var withoutLineBreaks: String {
    guard utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else { return self }
    return String(decoding: utf8.map { $0 == 0x0D || $0 == 0x0A || $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
  }
}
