public import AgentModel

/// The pattern of a rule (docs/desktop.md, Which account): the URLs at one `https` host that it covers.
///
/// A pattern without a path, or with a path that ends in `/*`, covers all paths below it; another pattern covers its own
/// path alone. Paths are compared by whole segments, so that `/acme/*` does not cover `/acme-evil`.
public struct ResourcePattern: Hashable, Sendable {
  public let origin: String
  /// The segments of the path, decoded. A segment may contain an encoded slash, which separates nothing.
  private let segments: [String]
  /// True if the paths below are covered, too.
  public let isPrefix: Bool
  /// The normal form.
  public let text: String

  /// Why a text is no pattern, for a person.
  public struct Refusal: Error, Hashable, Sendable {
    public let expected: String
  }

  public init(_ text: String) throws(Refusal) {
    guard let url = HTTPURL(text), url.scheme == .https else {
      throw Refusal(expected: "an https URL without user information and fragment, such as https://host/path/*")
    }
    guard !url.host.contains("*") else { throw Refusal(expected: "the exact name of a host") }
    guard url.query == nil else { throw Refusal(expected: "a URL without a query") }
    var segments = Self.segments(of: url.path)
    let isWholeHost = segments.isEmpty
    let hasStar = segments.last == "*"
    if hasStar { segments.removeLast() }
    // An escaped `*` is refused as well: nothing tells the two apart once a tool has decoded one.
    guard !segments.contains(where: { $0.contains("*") }) else {
      throw Refusal(expected: "a path in which * is the whole last segment, if it is there at all")
    }
    origin = url.origin
    self.segments = segments
    isPrefix = hasStar || isWholeHost
    let path = isWholeHost ? "/*" : url.path
    self.text = url.origin + path
  }

  public func covers(_ url: HTTPURL) -> Bool {
    guard url.origin == origin else { return false }
    let other = Self.segments(of: url.path)
    return isPrefix ? other.starts(with: segments) : other == segments
  }

  /// Of two patterns that cover a URL, the one with more segments says more of it, and a path more than all below it.
  public func isLonger(than other: ResourcePattern) -> Bool {
    (segments.count, isPrefix ? 0 : 1) > (other.segments.count, other.isPrefix ? 0 : 1)
  }

  /// The segments of a path, without the empty one that a slash at the end leaves.
  private static func segments(of path: String) -> [String] {
    var segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      .map { PercentCoding.decode($0.utf8) ?? String($0) }
    if segments.last == "" { segments.removeLast() }
    return segments
  }
}
