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

  /// A path, or the beginning of one.
  public struct Pattern: Hashable, Sendable {
    private let segments: [String]
    /// The beginning of the segment after them, empty for any; nil if the pattern covers one path alone.
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
      guard !plain.contains("*"), !plain.lowercased().contains("%2a") else {
        throw Refusal(expected: "a path in which `*` stands at the end, if it is there at all")
      }
      let segments: [String]
      do throws(RequestPath.Refusal) { segments = try RequestPath(url).segments } catch {
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
        guard !url.path.hasSuffix("/"), let last = segments.last else {
          throw Refusal(expected: "a path whose `*` follows no `.` or `..`")
        }
        (self.segments, start) = (segments.dropLast(), last)
      }
      self.text = url.path + "*"
    }

    public func covers(_ path: RequestPath) -> Bool {
      guard let start else { return path.segments == segments }
      guard path.segments.starts(with: segments) else { return false }
      guard !start.isEmpty else { return true }
      guard path.segments.count > segments.count else { return false }
      let next = path.segments[segments.count]
      return next.utf8.starts(with: start.utf8) || next.hasPrefix(start)
    }

    /// Of two patterns that cover a path the one with more segments says more of it, then one path more than many, then
    /// the longer beginning.
    func isCloser(than other: Pattern) -> Bool { closeness > other.closeness }

    private var closeness: (Int, Int, Int) { (segments.count, start == nil ? 1 : 0, start?.utf8.count ?? 0) }
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

  /// The capabilities that name a request, each once: the one with the closest path first, of equal ones by name.
  func capabilities(naming method: String, at origin: String, _ path: RequestPath) -> [String] {
    var closest: [String: RequestRule.Pattern] = [:]
    for named in byOrigin[origin] ?? [] where named.rule.methods.contains(method) && named.rule.path.covers(path) {
      if closest[named.capability].map({ named.rule.path.isCloser(than: $0) }) ?? true {
        closest[named.capability] = named.rule.path
      }
    }
    return closest.sorted { a, b in
      a.value.isCloser(than: b.value) || !b.value.isCloser(than: a.value) && a.key < b.key
    }.map(\.key)
  }
}
