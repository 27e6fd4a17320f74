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

  /// A URL without the placeholders that stand for a credential: as the value of a parameter of the query, and before the
  /// path.
  ///
  /// - Parameter paths: how accounts of the proxy have a secret before the path, such as `/bot{secret}`.
  static func removed(from url: HTTPURL, paths: [SecretTemplate]) -> HTTPURL {
    guard stands(in: url.text) else { return url }
    let path = paths.lazy.compactMap { pathLeft(of: url, without: $0) }.first ?? url.path
    let parameters = url.query.map { query in
      query.split(separator: "&", omittingEmptySubsequences: false).filter { parameter in
        !(parameter.firstIndex(of: "=").map { isAll(of: parameter[$0...].dropFirst()) } ?? false)
      }
    }
    let isQueryEmpty = parameters?.isEmpty ?? true
    let query = isQueryEmpty ? "" : "?" + (parameters ?? []).joined(separator: "&")
    return HTTPURL(url.origin + path + query) ?? url
  }

  /// A form without the parameters whose value is a placeholder; nil if there are none.
  ///
  /// - Parameter form: of `application/x-www-form-urlencoded`, in which a placeholder is written as it is.
  public static func removed(fromForm form: UnsafeRawBufferPointer) -> [UInt8]? {
    let ampersand = UInt8(ascii: "&")
    let parameters = form.split(separator: ampersand, omittingEmptySubsequences: false)
    let kept = parameters.filter { parameter in
      let value = parameter.drop { $0 != UInt8(ascii: "=") }.dropFirst()
      return value.count != byteCount || !isAll(of: String(decoding: value, as: UTF8.self))
    }
    return kept.count == parameters.count ? nil : Array(kept.joined(separator: CollectionOfOne(ampersand)))
  }

  /// Nil if the path does not begin with a placeholder at this place.
  private static func pathLeft(of url: HTTPURL, without template: SecretTemplate) -> String? {
    guard url.path.hasPrefix(template.before) else { return nil }
    let placed = url.path.dropFirst(template.before.count)
    guard isAll(of: placed.prefix(byteCount)), placed.dropFirst(byteCount).hasPrefix(template.after) else { return nil }
    let rest = placed.dropFirst(byteCount + template.after.count)
    guard rest.isEmpty || rest.hasPrefix("/") else { return nil }
    return rest.isEmpty ? "/" : String(rest)
  }
}
