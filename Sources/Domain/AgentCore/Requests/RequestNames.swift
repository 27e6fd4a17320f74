public import AgentModel

/// The one rule about the names in a request that gets an access token: those of its header fields, and of the parameters
/// in its URL and in a form (docs/requests.md, Names in a request). `request.send`, operations, `request.authorize`
/// and `lanyard-proxy` obey it.
///
/// The token decides in whose name a request is made, and the agent judges its method and path. A name by which a server
/// takes another credential, person, method or path is never sent, in any spelling. The person may allow a name for a
/// provider (`allowedFields`).
public struct RequestNames: Hashable, Sendable {
  /// What a name tells a server beside the data of the request.
  public enum Meaning: String, CaseIterable, Hashable, Sendable {
    case credential
    /// Another person, whose rights the request is to have.
    case person
    /// Another method, or a field in a parameter.
    case method
    case path
    /// Who the caller is, as a front door before the server tells it.
    case identity
    /// Where the request comes from, as a proxy before the server tells it.
    case address
  }

  /// What the name of a header field is.
  public enum Field: Hashable, Sendable {
    /// Says nothing of credential, person, method and path, or the person allowed it.
    case plain
    /// The agent or the connection decides it (RFC 9110 §7.6.1, RFC 9112 §6). The person can't allow it.
    case reserved
    /// Asks for a part or another coding of the answer, in which a repeated token would not be found.
    case hiding
    case telling(Meaning)
    /// Neither known as plain nor telling.
    case unknown
  }

  /// In the form of `NameSpelling.letters`.
  private let allowed: Set<String>
  /// The names under which the credential itself stands, in the same form.
  private var placedField: String?
  private var placedParameter: String?

  /// - Parameters:
  ///   - allowed: the provider's `allowedFields`, in any spelling.
  ///   - placement: where the credential of the request stands; nil: in `Authorization`.
  public init(allowed: [String] = [], placing placement: SecretPlacement? = nil) {
    self.allowed = Set(allowed.map { NameSpelling($0).text })
    placedField = placement?.fieldName.map { NameSpelling($0).text }
    if case .query(let name)? = placement { placedParameter = NameSpelling(name).text }
  }

  /// False for a name that the person can't allow: the agent or the connection decides it.
  public static func canBeAllowed(_ name: String) -> Bool {
    guard name.utf8.allSatisfy({ FieldSyntax.isToken($0) }) else { return false }
    let spelling = NameSpelling(name)
    return !spelling.letters.isEmpty && !isReserved(spelling) && !hiding.contains(spelling.text)
  }

  public func field(_ name: String) -> Field {
    if let placedField, NameSpelling(name).text == placedField { return .reserved }
    // The common names first: nothing else has to be looked at.
    if PlainFieldNames.isListed(name.lowercased()) { return .plain }
    let spelling = NameSpelling(name)
    if Self.isReserved(spelling) { return .reserved }
    if Self.hiding.contains(spelling.text) { return .hiding }
    if allowed.contains(spelling.text) { return .plain }
    if let meaning = spelling.meaning ?? spelling.meaningOfField { return .telling(meaning) }
    return PlainFieldNames.isPlain(spelling.words) ? .plain : .unknown
  }

  /// What the name of a parameter tells, in the query or in a form, as it stands there; nil for a plain one.
  public func parameter(_ written: some Collection<UInt8>) -> Meaning? {
    for reading in Self.readings(of: written) {
      if let meaning = meaning(ofDecoded: reading) { return meaning }
      // PHP reads a decoded name up to its first zero.
      if reading.contains(0), let meaning = meaning(ofDecoded: Array(reading.prefix { $0 != 0 })) { return meaning }
    }
    return nil
  }

  /// False if the beginning of a longer name does not show what the name is: servers leave out brackets and blanks before
  /// it, escaped or not.
  func isShown(by beginning: [UInt8]) -> Bool {
    Self.readings(of: beginning).allSatisfy { reading in
      let name = Self.trimmed(reading)
      let count = name.count { FieldSyntax.isAlphanumeric($0) }
      return count >= Self.mostLetters || count > 0 && name.endIndex < reading.endIndex
    }
  }

  /// The first parameter of a URL that tells something: of its path (RFC 3986 §3.3), then of its query.
  public func parameter(in url: HTTPURL) -> (name: String, meaning: Meaning)? {
    parameter(inPath: url.path) ?? parameter(inQuery: url.query)
  }

  /// Some servers part parameters by `;`.
  func parameter(inQuery query: String?) -> (name: String, meaning: Meaning)? {
    guard let query else { return nil }
    return first(of: query.utf8.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") })
  }

  /// A segment's parameters stand behind `;`, as `;jsessionid=…` does. Servers behind another one see escapes decoded.
  func parameter(inPath path: String) -> (name: String, meaning: Meaning)? {
    guard path.utf8.contains(where: { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "%") }) else { return nil }
    for reading in Self.readings(of: path.utf8) {
      for segment in reading.split(separator: UInt8(ascii: "/")) {
        let parts = segment.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        if let told = first(of: parts.dropFirst()) { return told }
      }
    }
    return nil
  }

  /// - Parameter parts: names, each with or without `=` and a value.
  private func first(of parts: some Sequence<some Collection<UInt8>>) -> (name: String, meaning: Meaning)? {
    for part in parts {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      if let meaning = parameter(name) { return (String(decoding: Array(name), as: UTF8.self), meaning) }
    }
    return nil
  }

  private static let mostDecodings = 3
  /// No name that tells something has as many letters before them that don't.
  private static let mostLetters = 32

  /// A name as it stands, and decoded: servers behind another one decode twice.
  private static func readings(of written: some Collection<UInt8>) -> [[UInt8]] {
    var readings = [Array(written)]
    while readings.count <= mostDecodings {
      let decoded = decoded(readings[readings.count - 1])
      guard decoded != readings[readings.count - 1] else { break }
      readings.append(decoded)
    }
    return readings
  }

  /// PHP and Rack read `name[]` and `[name]` as `name`.
  private static func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let isBracket = { (byte: UInt8) in byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") }
    return bytes.drop { isBracket($0) || $0 == 0x20 || $0 == UInt8(ascii: "+") }.prefix { !isBracket($0) }
  }

  private func meaning(ofDecoded bytes: [UInt8]) -> Meaning? {
    let spelling = NameSpelling(bytes: Self.trimmed(bytes))
    if spelling.text == placedParameter { return .credential }
    guard !allowed.contains(spelling.text) else { return nil }
    return spelling.meaning ?? spelling.meaningOfParameter
  }

  /// RFC 3986 §2.1; an incomplete escape stays.
  private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(UInt8(ascii: "%")) else { return bytes }
    var decoded: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      // IIS reads `%u0061` as a letter, too.
      let isWide = rest.starts(with: "u00".utf8) || rest.starts(with: "U00".utf8)
      let digits = isWide ? rest.dropFirst(3).prefix(2) : rest.prefix(2)
      guard byte == UInt8(ascii: "%"), digits.count == 2,
        let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else {
        decoded.append(byte)
        continue
      }
      decoded.append(code)
      rest = rest.dropFirst(isWide ? 5 : 2)
    }
    return decoded
  }

  // MARK: fields that the agent or the connection sets

  private static func isReserved(_ spelling: NameSpelling) -> Bool {
    reserved.contains(spelling.text) || spelling.words.first == "proxy" && spelling.words.count > 1
  }

  private static let reserved: Set<String> = [
    "authorization", "cookie", "cookie2", "dpop", "host", "connection", "contentlength", "expect", "http2settings",
    "keepalive", "te", "trailer", "transferencoding", "upgrade",
  ]

  private static let hiding: Set<String> = [
    "acceptcharset", "acceptencoding", "accepttransferencoding", "aim", "ifrange", "range", "requestrange",
  ]
}
