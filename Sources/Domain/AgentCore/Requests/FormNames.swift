internal import AgentModel

/// Looks for the names of parameters in the body of a form while it passes, in pieces of any size, and keeps no more than one
/// name (docs/requests.md, Names in a request).
///
/// Servers take a method and a credential from a form as from the query (RFC 6750 §2.2). Bodies of other types are data
/// that only their API can read.
public struct FormNames: Sendable {
  /// Why a form is refused.
  public enum Refusal: Error, Hashable, Sendable {
    case telling(RequestNames.Meaning)
    /// A charset or a coding in which no name can be found, or the head of a part that is too long.
    case unreadable
  }

  private enum Kind: Hashable, Sendable { case encoded, untyped, multipart }

  private let names: RequestNames
  private let kind: Kind
  /// Encoded: the name so far, nil in a value. Multipart: the line so far, nil in one that is no field of a part.
  private var text: [UInt8]? = []
  /// Multipart: the field of a part that a folded line may continue.
  private var field: [UInt8] = []

  /// A name is judged by its beginning: what follows is an index (`name[...]`).
  private static let mostNameBytes = 512
  private static let mostFieldBytes = 8 << 10

  /// Nil for a body that is no form. One without a type is: Rack reads it as a form.
  ///
  /// - Parameters:
  ///   - contentType: the values of `Content-Type`.
  ///   - contentEncoding: the values of `Content-Encoding`.
  public init?(contentType: [String], contentEncoding: [String], under names: RequestNames) throws(Refusal) {
    let type = contentType.joined(separator: ",").lowercased()
    let isUntyped = type.allSatisfy { $0 == " " || $0 == "\t" || $0 == "," }
    let (isEncoded, isMultipart) = (type.contains("urlencoded"), type.contains("form-data"))
    guard isUntyped || isEncoded || isMultipart else { return nil }
    let isPlain = contentEncoding.allSatisfy { FieldSyntax.tokens(of: $0).allSatisfy { $0 == "identity" } }
    // Read as the one and as the other, it would have other names. Some charsets have other letters (EBCDIC).
    guard isPlain, contentType.count < 2, !(isEncoded && isMultipart), Self.hasPlainCharset(type) else {
      throw .unreadable
    }
    kind = isUntyped ? .untyped : isEncoded ? .encoded : .multipart
    self.names = names
  }

  private static func hasPlainCharset(_ type: String) -> Bool {
    let parts = type.split(separator: ";").map { part in part.filter { !" \t\"'".contains($0) } }
    return parts.allSatisfy { !$0.hasPrefix("charset") || plainCharsets.contains(String($0.dropFirst(8))) }
  }

  private static let plainCharsets: Set<String> = ["utf-8", "utf8", "us-ascii", "iso-8859-1"]

  /// The next piece of the body.
  public mutating func take(_ piece: UnsafeRawBufferPointer) throws(Refusal) {
    switch kind {
    case .encoded, .untyped: for byte in piece { try takeEncoded(byte) }
    case .multipart: for byte in piece { try takeLine(byte) }
    }
  }

  /// Nothing follows.
  public mutating func finish() throws(Refusal) {
    switch kind {
    case .encoded, .untyped: try judge(text ?? [])
    case .multipart:
      try endLine()
      try judgeField()
    }
  }

  /// The whole body at once.
  public mutating func takeAll(_ body: UnsafeRawBufferPointer) throws(Refusal) {
    try take(body)
    try finish()
  }

  private func judge(_ name: [UInt8]) throws(Refusal) {
    // JSON, XML or lines of text without their type: no server takes them for the name of a parameter.
    if kind == .untyped, name.contains(where: { "\"{<:\r\n".utf8.contains($0) }) { return }
    if let meaning = names.parameter(name) { throw .telling(meaning) }
  }

  // MARK: application/x-www-form-urlencoded

  private mutating func takeEncoded(_ byte: UInt8) throws(Refusal) {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: ";"):
      try judge(text ?? [])
      text = []
    case UInt8(ascii: "="):
      try judge(text ?? [])
      text = nil
    // PHP leaves out blanks before a name, and text files end lines.
    case 0x20, UInt8(ascii: "+"), 0x09, 0x0A, 0x0D: if text?.isEmpty == false { append(byte) }
    default: append(byte)
    }
  }

  private mutating func append(_ byte: UInt8) {
    if let count = text?.count, count < Self.mostNameBytes { text!.append(byte) }
  }

  // MARK: multipart/form-data

  /// Judged is every line that a reader might take for the field of a part, wherever it stands: readers differ in what
  /// they take for a boundary.
  private mutating func takeLine(_ byte: UInt8) throws(Refusal) {
    guard byte != 0x0A, byte != 0x0D else { return try endLine() }
    guard let line = text else { return }
    guard line.count < Self.mostFieldBytes else {
      guard !Self.isDisposition(line) else { throw .unreadable }
      text = nil
      return
    }
    text!.append(byte)
  }

  private mutating func endLine() throws(Refusal) {
    let line = text ?? []
    text = []
    guard let first = line.first else { return }
    // A folded line.
    if FieldSyntax.isBlank(first), !field.isEmpty {
      guard field.count + line.count <= Self.mostFieldBytes else { throw .unreadable }
      field += line
      return
    }
    try judgeField()
    if Self.isDisposition(line) { field = line }
  }

  private static func isDisposition(_ line: [UInt8]) -> Bool {
    let name = line.drop { FieldSyntax.isBlank($0) }.prefix { $0 != UInt8(ascii: ":") }
    return NameSpelling(bytes: name).text == "contentdisposition"
  }

  /// Judges every value of `name` and `name*` (RFC 7578 §4.2), in quotes or not.
  private mutating func judgeField() throws(Refusal) {
    defer { field = [] }
    var rest = field[...]
    while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
      let before = rest[..<equals].reversed().drop { FieldSyntax.isBlank($0) || $0 == UInt8(ascii: "*") }
      rest = rest[(equals + 1)...]
      // Not the end of `filename`.
      guard before.prefix(4).map({ $0 | 0x20 }).elementsEqual("eman".utf8),
        before.dropFirst(4).first.map(FieldSyntax.isAlphanumeric) != true
      else { continue }
      let value = rest.drop { FieldSyntax.isBlank($0) || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") }
      let name = value.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ";") && !FieldSyntax.isBlank($0) }
      // An encoded word (RFC 2047), which some readers decode.
      guard !name.starts(with: "=?".utf8) else { throw .unreadable }
      // `name*=utf-8''value` (RFC 5987): the value stands behind the last apostrophe.
      try judge(Array(name.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: true).last ?? name))
      try judge(Array(name.filter { $0 != UInt8(ascii: "\\") }))
    }
  }
}
