internal import AgentModel

/// What a program gets where a library wants an account's secret: `lanyard-` and the account's id (docs/proxy.md,
/// Placeholders). It is no secret, chooses no account, and no server takes it. Requests go on without it.
public enum Placeholder {
  private static let prefix = "lanyard-"
  /// Of ASCII, as the text of an account's id is.
  private static let byteCount = prefix.utf8.count + AccountID.textByteCount

  /// - Parameter account: the id of an account.
  public static func text(for account: String) -> String { prefix + account }

  /// True if a text is one, and nothing else.
  static func isAll(of text: some StringProtocol) -> Bool {
    text.utf8.count == byteCount && text.hasPrefix(prefix)
      && AccountID(String(text.dropFirst(prefix.utf8.count))) != nil
  }

  /// True if one stands anywhere in a text.
  static func stands(in text: String) -> Bool {
    var rest = Substring(text)
    while let start = rest.utf8.firstRange(of: prefix.utf8)?.lowerBound {
      rest = rest[start...]
      if isAll(of: String(decoding: rest.utf8.prefix(byteCount), as: UTF8.self)) { return true }
      rest.removeFirst()
    }
    return false
  }

  /// A URL without the placeholders that stand for a credential: as the value of a parameter of the path or the query, and
  /// before the path.
  ///
  /// - Parameter paths: how accounts of the proxy have a secret before the path, such as `/bot{secret}`.
  static func removed(from url: HTTPURL, paths: [SecretTemplate]) -> HTTPURL {
    guard stands(in: String(decoding: decoded(url.text.utf8), as: UTF8.self)) else { return url }
    let path = segmentsLeft(of: url.path)
    var text = url.origin + (paths.lazy.compactMap { pathLeft(of: path, without: $0) }.first ?? path)
    if let query = url.query {
      if let parameters = parametersLeft(of: query.utf8) {
        text += parameters.isEmpty ? "" : "?" + String(decoding: Array(parameters.joined()), as: UTF8.self)
      } else {
        text += "?" + query
      }
    }
    return HTTPURL(text) ?? url
  }

  /// A form without the parameters whose value is a placeholder; nil if there are none.
  ///
  /// - Parameter form: of `application/x-www-form-urlencoded`, or of a body without a type.
  public static func removed(fromForm form: UnsafeRawBufferPointer) -> [UInt8]? {
    parametersLeft(of: form).map { Array($0.joined()) }
  }

  // MARK: parameters

  private static let blank = UInt8(ascii: " ")
  private static let semicolon = UInt8(ascii: ";")

  /// The parameters that are no placeholders, each but the first with the `&` or `;` before it; nil if all of them stay.
  private static func parametersLeft(of parameters: some Collection<UInt8>) -> [[UInt8]]? {
    var (left, hasRemoved): ([[UInt8]], Bool) = ([], false)
    var rest = parameters[...]
    var separator: [UInt8] = []
    while true {
      let parameter = rest.prefix { $0 != UInt8(ascii: "&") && $0 != semicolon }
      if isPlaced(by: parameter) {
        hasRemoved = true
      } else {
        left.append((left.isEmpty ? [] : separator) + Array(parameter))
      }
      rest = rest.dropFirst(parameter.count)
      guard let next = rest.popFirst() else { break }
      separator = [next]
    }
    return hasRemoved ? left : nil
  }

  /// A path without the parameters of its segments (RFC 3986 section 3.3) that are placeholders.
  private static func segmentsLeft(of path: String) -> String {
    guard path.utf8.contains(semicolon) else { return path }
    let slash = UInt8(ascii: "/")
    let segments = path.utf8.split(separator: slash, omittingEmptySubsequences: false).map { segment -> [UInt8] in
      let parts = segment.split(separator: semicolon, omittingEmptySubsequences: false).map { Array($0) }
      let left = parts.prefix(1) + parts.dropFirst().filter { !isPlaced(by: $0) }
      return Array(left.joined(separator: [semicolon]))
    }
    return String(decoding: Array(segments.joined(separator: [slash])), as: UTF8.self)
  }

  /// True if the value of a parameter is a placeholder: escaped or not, and behind one word at most, such as `Bearer`.
  private static func isPlaced(by parameter: some Collection<UInt8>) -> Bool {
    guard parameter.count > byteCount else { return false }
    let words = decoded(parameter.drop { $0 != UInt8(ascii: "=") }.dropFirst()).split(separator: blank)
    guard let last = words.last, last.count == byteCount, words.count < 3, words[0].allSatisfy(FieldSyntax.isToken)
    else {
      return false
    }
    return isAll(of: String(decoding: last, as: UTF8.self))
  }

  /// What a text stands for (RFC 3986 section 2.1, and `+` for a blank); the text itself if an escape is not whole.
  private static func decoded(_ written: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    let isWhole = PercentCoding.decode(written, form: true) { bytes.append($0) }
    return isWhole ? bytes : Array(written)
  }

  // MARK: before the path

  /// Nil if the path does not begin with a placeholder at this place.
  private static func pathLeft(of path: String, without template: SecretTemplate) -> String? {
    guard path.hasPrefix(template.before) else { return nil }
    let placed = path.dropFirst(template.before.count)
    guard let length = spelledLength(at: placed.utf8), placed.utf8.dropFirst(length).starts(with: template.after.utf8)
    else { return nil }
    let rest = placed.utf8.dropFirst(length + template.after.utf8.count)
    guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
    return rest.isEmpty ? "/" : String(Substring(rest))
  }

  /// How many bytes spell the placeholder with which a path begins, escaped or not; nil if it begins with none.
  private static func spelledLength(at path: Substring.UTF8View) -> Int? {
    var (spelled, length): ([UInt8], Int) = ([], 0)
    var rest = path
    while spelled.count < byteCount, let byte = rest.first {
      // Each escape of an `HTTPURL` is whole.
      let count = byte == UInt8(ascii: "%") ? 3 : 1
      spelled += decoded(rest.prefix(count))
      rest = rest.dropFirst(count)
      length += count
    }
    return isAll(of: String(decoding: spelled, as: UTF8.self)) ? length : nil
  }
}
