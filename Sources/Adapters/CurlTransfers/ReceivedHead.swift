internal import AgentModel

/// The head of a response, taken line by line. Interim responses (1xx) are dropped, trailers ignored.
public struct ReceivedHead: Sendable {
  /// Limit for all heads of one exchange together, interim ones included. Common servers send under 4 KiB and refuse
  /// more than 8 to 16.
  public static let maximumBytes = 64 << 10

  /// The status code.
  public private(set) var status = 0
  /// The fields in the order of the response.
  public private(set) var fields: [(name: String, value: String)] = []
  /// The empty line that ends the final head was read.
  package private(set) var isComplete = false
  private var bytes = 0

  package init() {}

  /// The value of the first field with this name, which is lower case (RFC 9110 §5.1).
  public func field(_ lowercased: String) -> String? { fields.first { FieldSyntax.isName($0.name, lowercased) }?.value }

  /// The values of all fields with this name, which is lower case.
  public func values(_ lowercased: String) -> [String] {
    fields.compactMap { FieldSyntax.isName($0.name, lowercased) ? $0.value : nil }
  }

  /// The media type of `Content-Type` in lower case, without its parameters; nil if there is none.
  public var mediaType: String? {
    guard let value = field("content-type") else { return nil }
    let type = value.prefix { $0 != ";" && $0 != " " && $0 != "\t" && $0 != "," }
    return type.isEmpty ? nil : type.lowercased()
  }

  /// `Content-Length`, if it is a number.
  /// Nil beside a transfer coding, which overrides it (RFC 9112 §6.3).
  package var contentLength: Int? {
    guard list("transfer-encoding").isEmpty else { return nil }
    return field("content-length").flatMap { Int($0) }
  }

  /// The codings that were applied to the body, in lowercase, without `identity`.
  package var contentCodings: [String] { list("content-encoding").filter { $0 != "identity" } }

  /// `Content-Length` occurs with different values (RFC 9112 §6.3): where the body ends can't be known.
  package var hasTwoLengths: Bool {
    let lengths = list("content-length")
    return lengths.contains { $0 != lengths[0] }
  }

  /// A transfer coding but `chunked`, which no request accepts (RFC 9110 §10.1.4): nothing would show that its end is
  /// missing.
  package var hasOtherTransferCoding: Bool {
    list("transfer-encoding").contains { $0 != "chunked" && $0 != "identity" }
  }

  /// The members of a list that may stand in several fields.
  private func list(_ name: String) -> [String] {
    values(name).flatMap { value in
      value.utf8.split { $0 == UInt8(ascii: ",") || FieldSyntax.isBlank($0) }
        .map { String(decoding: $0.map(FieldSyntax.lowered), as: UTF8.self) }
    }
  }

  /// Takes one line; false if the head is too large.
  package mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
    bytes += line.count
    guard bytes <= Self.maximumBytes else { return false }
    guard !isComplete else { return true }
    if line.starts(with: "HTTP/".utf8) {
      begin(line)
    } else if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      isComplete = status >= 200  // RFC 9110 §15.2: 1xx are interim
    } else if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      // A folded line (RFC 9112 §5.2) continues the field after one space.
      if let last = fields.indices.last { fields[last].value += " " + Self.trimmed(line[...]) }
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      fields.append((Self.trimmed(line[..<colon]), Self.trimmed(line[(colon + 1)...])))
    }
    return true
  }

  private mutating func begin(_ statusLine: UnsafeRawBufferPointer) {
    let code = statusLine.drop { $0 != 0x20 }.drop { $0 == 0x20 }.prefix { $0 != 0x20 }
    status = Int(Self.trimmed(code)) ?? 0
    fields = []
  }

  /// Bytes that are not UTF-8 become U+FFFD: no decision depends on them.
  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(decoding: bytes[first...last], as: UTF8.self)
  }
}
