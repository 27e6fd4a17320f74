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
    /// A charset or a coding in which no name can be found, a type that not every server reads as one, or a name or the
    /// head of a part that is too long.
    case unreadable
  }

  private enum Kind: Hashable, Sendable { case encoded, untyped, multipart }

  private let names: RequestNames
  private let kind: Kind
  /// Encoded: the name so far, nil in a value. Multipart: the line so far.
  private var text: [UInt8]? = []
  /// Multipart: the field of a part that the next lines may continue.
  private var field: [UInt8] = []
  /// Multipart: the line ends that came last, one behind the other.
  private var lineEnds: UInt32 = 0

  /// A longer name is judged by its beginning.
  private static let mostNameBytes = 512
  private static let mostFieldBytes = 8 << 10

  /// Nil for a body that is no form. One without a type is, and one of any multipart type: Rack reads them as forms.
  ///
  /// - Parameter fields: those that are sent with the body.
  public init?(_ fields: some Sequence<(name: String, value: String)>, under names: RequestNames) throws(Refusal) {
    var (contentType, contentEncoding): ([String], [String]) = ([], [])
    for (name, value) in fields {
      switch NameSpelling(name).text {
      // `Content_Type` is the type for servers that read `_` as `-`, and for others the body has none.
      case "contenttype" where !FieldSyntax.isName(name, "content-type"): throw .unreadable
      case "contenttype": contentType.append(value)
      case "contentencoding": contentEncoding.append(value)
      default: break
      }
    }
    let type = contentType.joined(separator: ",").lowercased()
    let isUntyped = type.allSatisfy { $0 == " " || $0 == "\t" || $0 == "," }
    let (isEncoded, isMultipart) = (
      type.contains("urlencoded"), type.contains("multipart/") || type.contains("form-data")
    )
    guard isUntyped || isEncoded || isMultipart else { return nil }
    let isPlain = contentEncoding.allSatisfy { FieldSyntax.tokens(of: $0).allSatisfy { $0 == "identity" } }
    // Read as the one and as the other, it would have other names. Some charsets have other letters (EBCDIC).
    guard isPlain, contentType.count < 2, !(isEncoded && isMultipart), Self.hasPlainCharset(type) else {
      throw .unreadable
    }
    kind = isUntyped ? .untyped : isEncoded ? .encoded : .multipart
    self.names = names
  }

  /// The body is `application/x-www-form-urlencoded`.
  public var isEncoded: Bool { kind == .encoded }

  /// The body is of a multipart type, in which a parameter is a part.
  public var isMultipart: Bool { kind == .multipart }

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
    case .encoded, .untyped: try judgeName()
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
      try judgeName()
      text = []
    case UInt8(ascii: "="):
      try judgeName()
      text = nil
    // PHP leaves out blanks before a name, and text files end lines.
    case 0x20, UInt8(ascii: "+"), 0x09, 0x0A, 0x0D: if text?.isEmpty == false { append(byte) }
    default: append(byte)
    }
  }

  private mutating func append(_ byte: UInt8) {
    if let count = text?.count, count < Self.mostNameBytes { text!.append(byte) }
  }

  private func judgeName() throws(Refusal) {
    guard let name = text else { return }
    try judge(name)
    if name.count == Self.mostNameBytes, !names.isShown(by: name) { throw .unreadable }
  }

  // MARK: multipart

  /// Judged is every line that a reader might take for the field of a part, wherever it stands: readers differ in what
  /// they take for a boundary.
  private mutating func takeLine(_ byte: UInt8) throws(Refusal) {
    guard byte != 0x0A, byte != 0x0D else {
      try endLine()
      lineEnds = lineEnds << 8 | UInt32(byte)
      // The end of a part's head, for every reader.
      if lineEnds == 0x0D0A_0D0A { try judgeField() }
      return
    }
    lineEnds = 0
    text!.append(byte)
    guard text!.count == Self.mostFieldBytes else { return }
    guard field.isEmpty, !Self.isField(text!) else { throw .unreadable }
    // The name of a field may begin here.
    text = Array(text!.suffix(64))
  }

  private mutating func endLine() throws(Refusal) {
    let line = text ?? []
    text = []
    guard !line.isEmpty else { return }
    if !field.isEmpty { try goOn(with: line) }
    guard field.isEmpty, Self.isField(line) else { return }
    field = line
    // No line continues what has a value.
    if Self.value(of: Self.disposition, in: line) == nil, !identifier.isEmpty { try judgeField() }
  }

  /// A folded line continues a field. In Rack another one does, too, up to its first colon.
  private mutating func goOn(with line: [UInt8]) throws(Refusal) {
    let isFolded = line.first.map { FieldSyntax.isBlank($0) } ?? false
    let part = isFolded ? line[...] : line.prefix { $0 != UInt8(ascii: ":") }
    guard field.count + part.count < Self.mostFieldBytes else { throw .unreadable }
    field.append(0x0A)
    field += part
    if part.count < line.count { try judgeField() }
  }

  private static let disposition: StaticString = "content-disposition"
  /// Rack takes it for the name of a part that has none.
  private static let identifier: StaticString = "content-id"

  private static func isField(_ line: [UInt8]) -> Bool {
    value(of: disposition, in: line) != nil || value(of: identifier, in: line) != nil
  }

  /// What follows the name of the field: in any spelling at the beginning of the line, and anywhere in it for Rack.
  private static func value(of name: StaticString, in line: [UInt8]) -> ArraySlice<UInt8>? {
    let count = name.utf8CodeUnitCount
    var isFirst = true
    var rest = line[...]
    while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
      rest = rest[(colon + 1)...]
      var end = colon
      while end > 0, FieldSyntax.isBlank(line[end - 1]) { end -= 1 }
      let isWritten = end >= count && (0..<count).allSatisfy { line[end - count + $0] | 0x20 == name.utf8Start[$0] }
      let isName = isFirst && end < 64 && line[..<end].allSatisfy { FieldSyntax.isToken($0) || FieldSyntax.isBlank($0) }
      if isWritten || isName && NameSpelling(bytes: line[..<end]).isSame(as: name) { return rest }
      isFirst = false
    }
    return nil
  }

  private var identifier: ArraySlice<UInt8> {
    let value = Self.value(of: Self.identifier, in: field) ?? []
    return value.drop { Self.isSpace($0) || $0 == UInt8(ascii: "<") }.prefix { $0 != 0x0A && $0 != UInt8(ascii: ">") }
  }

  /// Judges the value of `Content-ID`, and every value of `name` and `name*` (RFC 7578 §4.2), in quotes or not.
  private mutating func judgeField() throws(Refusal) {
    defer { field = [] }
    try judge(Array(identifier))
    var rest = field[...]
    while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
      let before = rest[..<equals].reversed().drop { Self.isSpace($0) }
      let parameter = before.drop { $0 == UInt8(ascii: "*") || $0 &- UInt8(ascii: "0") < 10 }
      rest = rest[(equals + 1)...]
      // Not the end of `filename`.
      guard parameter.prefix(4).map({ $0 | 0x20 }).elementsEqual("eman".utf8),
        parameter.dropFirst(4).first.map(FieldSyntax.isAlphanumeric) != true
      else { continue }
      // `name*0="a"; name*1="b"`: a name in pieces (RFC 2231 §3).
      guard before.count - parameter.count < 2 else { throw .unreadable }
      let value = rest.drop { Self.isSpace($0) || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") }
      let name = value.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ";") && !Self.isSpace($0) }
      // An encoded word (RFC 2047), which some readers decode.
      guard !name.starts(with: "=?".utf8) else { throw .unreadable }
      // `name*=utf-8''value` (RFC 5987): the value stands behind the last apostrophe.
      try judge(Array(name.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: true).last ?? name))
      try judge(Array(name.filter { $0 != UInt8(ascii: "\\") }))
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { FieldSyntax.isBlank(byte) || byte == 0x0A }
}
