extension HTTPURL {
  /// The URL that a reference in an answer from this URL names, such as the value of `Location` (RFC 9110 §10.2.2, RFC 3986
  /// §5.2.2). Nil for an empty reference, and for one that names no `http` or `https` URL.
  ///
  /// The fragment is left out: it is for the reader of the answer, and is not sent.
  public func resolving(_ reference: String) -> HTTPURL? {
    let reference = String(reference.prefix { $0 != "#" })
    return reference.isEmpty ? nil : HTTPURL(absolute(reference))
  }

  /// `init` removes dot segments, and refuses any other scheme.
  private func absolute(_ reference: String) -> String {
    if reference.hasPrefix("//") { return scheme.rawValue + ":" + reference }
    if reference.hasPrefix("/") { return origin + reference }
    if reference.hasPrefix("?") { return origin + path + reference }
    // RFC 3986 §4.2: the first segment of a relative path has no colon.
    if reference.prefix(while: { $0 != "/" && $0 != "?" }).contains(":") { return reference }
    return origin + String(path[...path.lastIndex(of: "/")!]) + reference
  }
}
