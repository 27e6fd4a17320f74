internal import AgentModel

/// The requests that a capability decides about: methods and paths at one origin (docs/offline.md, Requests).
public struct RequestRule: Hashable, Sendable {
  /// In normal form (`RequestTarget.origin`).
  public let origin: String
  public let methods: Set<String>
  public let path: Pattern

  public init(origin: String, methods: Set<String>, path: Pattern) {
    self.origin = origin
    self.methods = methods
    self.path = path
  }

  /// A path, or the beginning of one, in which `*` stands for one segment.
  public struct Pattern: Hashable, Sendable {
    /// Nil stands for any segment.
    private let segments: [String?]
    /// The beginning of the segment after them, empty for any; nil if the pattern ends with `segments`.
    private let start: String?
    /// The pattern as it is compared.
    public let text: String

    /// Why a text is no pattern, for its author.
    public struct Refusal: Error, Hashable, Sendable {
      public let expected: String
    }

    public init(_ text: String, at origin: String) throws(Refusal) {
      let hasStar = text.hasSuffix("*")
      let plain = hasStar ? String(text.dropLast()) : text
      guard plain.hasPrefix("/"), let url = HTTPURL(origin + plain), url.query == nil else {
        throw Refusal(expected: "a path that begins with `/`, as in a URL, without query and fragment")
      }
      // An escaped `*` would be a segment of its own name, and read as one that stands for any.
      guard !plain.lowercased().contains("%2a"), Self.starsAreSegments(plain) else {
        throw Refusal(expected: "a path in which `*` is a whole segment or stands at the end")
      }
      let segments: [String?]
      do throws(RequestPath.Refusal) {
        segments = try RequestPath(url).segments.map { $0 == "*" ? nil : $0 }
      } catch {
        throw Refusal(expected: RequestPath.expected)
      }
      guard hasStar else {
        (self.segments, start, self.text) = (segments, nil, url.path)
        return
      }
      if plain.hasSuffix("/") {
        (self.segments, start) = (segments, "")
      } else {
        // What a `*` after a dot segment stands for hangs on what follows it.
        guard !url.path.hasSuffix("/"), case .some(.some(let last)) = segments.last else {
          throw Refusal(expected: "a path whose `*` follows no `.`, `..` or `*`")
        }
        (self.segments, start) = (segments.dropLast(), last)
      }
      self.text = url.path + "*"
    }

    private static func starsAreSegments(_ path: String) -> Bool {
      path.utf8.split(separator: UInt8(ascii: "/")).allSatisfy { segment in
        segment.count == 1 || !segment.contains(UInt8(ascii: "*"))
      }
    }

    /// Whether a rule of this pattern permits a request of the path: `/items/*` covers what is below `/items`, and not
    /// `/items`, where a POST often makes a new item.
    public func covers(_ path: RequestPath) -> Bool {
      restricts(path) && (start != "" || segments.isEmpty || path.segments.count > segments.count)
    }

    /// Whether a rule of this pattern restricts a request of the path: `/items/*` restricts `/items` as well, since many
    /// servers take `/items` and `/items/` for one.
    public func restricts(_ path: RequestPath) -> Bool {
      guard path.segments.count >= segments.count,
        zip(segments, path.segments).allSatisfy({ mine, its in mine == nil || mine == its })
      else { return false }
      guard let start else { return path.segments.count == segments.count }
      guard !start.isEmpty else { return true }
      guard path.segments.count > segments.count else { return false }
      let next = path.segments[segments.count]
      return next.utf8.starts(with: start.utf8) || next.hasPrefix(start)
    }

    /// Of two patterns that cover a path the one with more segments says more of it, then the one with fewer `*` among
    /// them, then one path more than many, then the longer beginning.
    func isCloser(than other: Pattern) -> Bool { closeness > other.closeness }

    private var closeness: (Int, Int, Int, Int) {
      (segments.count, segments.count(where: { $0 != nil }), start == nil ? 1 : 0, start?.utf8.count ?? 0)
    }
  }
}

/// The rules of a policy, by origin.
struct RequestRules: Hashable, Sendable {
  private struct Named: Hashable, Sendable {
    var capability: String
    var rule: RequestRule
  }

  private let byOrigin: [String: [Named]]

  init(_ capabilities: [String: Capability]) {
    var rules: [Named] = []
    for (name, capability) in capabilities { rules += capability.requests.map { Named(capability: name, rule: $0) } }
    byOrigin = Dictionary(
      grouping: rules.sorted { ($0.capability, $0.rule.path.text) < ($1.capability, $1.rule.path.text) }
    ) {
      $0.rule.origin
    }
  }

  func hasSome(at origin: String) -> Bool { byOrigin[origin] != nil }

  /// True if a rule permits the request.
  func cover(_ method: String, at origin: String, _ path: RequestPath) -> Bool {
    byOrigin[origin]?.contains { $0.rule.methods.contains(method) && $0.rule.path.covers(path) } ?? false
  }

  /// The capabilities that restrict a request by one of these methods, each once: the one with the closest path first, of
  /// equal ones by name.
  func capabilities(naming methods: Set<String>, at origin: String, _ path: RequestPath) -> [String] {
    var closest: [String: RequestRule.Pattern] = [:]
    for named in byOrigin[origin] ?? []
    where !named.rule.methods.isDisjoint(with: methods) && named.rule.path.restricts(path) {
      if closest[named.capability].map({ named.rule.path.isCloser(than: $0) }) ?? true {
        closest[named.capability] = named.rule.path
      }
    }
    return closest.sorted { a, b in
      a.value.isCloser(than: b.value) || !b.value.isCloser(than: a.value) && a.key < b.key
    }.map(\.key)
  }
}
