public import AgentModel
internal import JSONRPC

/// The requests of programs for more than their grants have, which wait for a person (docs/approvals.md). In memory only.
public struct AccessRequests: Sendable {
  /// The contract's bound for each grant.
  public static let mostOfGrant = 16
  /// Of all grants: each may have made others.
  static let most = 1024
  /// After a no the same request is answered with it.
  public static let refusalPause = Milliseconds.seconds(60)
  /// In code points.
  static let longestReason = 500

  public struct Entry: Hashable, Sendable {
    public let id: String
    public let grant: String
    /// The name of the grant's client.
    public let client: String
    public let addition: PermissionAddition
    /// In the program's words, cleaned.
    public let reason: String
    public let requestedAt: Timestamp
    /// A verdict is being stored.
    public fileprivate(set) var isDeciding = false

    public init(
      id: String, grant: String, client: String, addition: PermissionAddition, reason: String, requestedAt: Timestamp
    ) {
      self.id = id
      self.grant = grant
      self.client = client
      self.addition = addition
      self.reason = AccessRequests.cleaned(reason)
      self.requestedAt = requestedAt
    }
  }

  public enum Answer: Hashable, Sendable {
    /// `isNew`: it began to wait.
    case waits(String, isNew: Bool)
    case refused(String)
    case full
  }

  private struct Key: Hashable {
    var grant: String
    var addition: PermissionAddition
  }

  /// In the order in which they came.
  public private(set) var entries: [Entry] = []
  private var refusals: [Key: (id: String, until: BootInstant)] = [:]

  public init() {}

  /// All grants that something is kept for.
  public var grants: Set<String> { Set(entries.map(\.grant)).union(refusals.keys.map(\.grant)) }

  /// What the caller gets; `entry` waits from now on if nothing like it does.
  public mutating func ask(_ entry: Entry, at now: BootInstant) -> Answer {
    refusals = refusals.filter { $0.value.until > now }
    if let refused = refusals[Key(grant: entry.grant, addition: entry.addition)] { return .refused(refused.id) }
    let own = entries.filter { $0.grant == entry.grant }
    if let same = own.first(where: { $0.addition == entry.addition }) { return .waits(same.id, isNew: false) }
    guard own.count < Self.mostOfGrant, entries.count < Self.most else { return .full }
    entries.append(entry)
    return .waits(entry.id, isNew: true)
  }

  /// Withdraws one that could not be noted.
  public mutating func remove(_ id: String) { entries.removeAll { $0.id == id } }

  /// A verdict is to be stored; nil if another one came first, or there is no such request.
  public mutating func decide(_ id: String) -> Entry? {
    guard let place = entries.firstIndex(where: { $0.id == id && !$0.isDeciding }) else { return nil }
    entries[place].isDeciding = true
    return entries[place]
  }

  /// The verdict is stored. False if the grant ended meanwhile.
  public mutating func decided(_ id: String, isAllowed: Bool, at now: BootInstant) -> Bool {
    guard let entry = entries.first(where: { $0.id == id }) else { return false }
    remove(id)
    if !isAllowed {
      refusals[Key(grant: entry.grant, addition: entry.addition)] = (id, now + Self.refusalPause)
    }
    return true
  }

  /// The verdict could not be stored: it was none.
  public mutating func undecided(_ id: String) {
    guard let place = entries.firstIndex(where: { $0.id == id }) else { return }
    entries[place].isDeciding = false
  }

  /// Removes and returns those of grants that cover nothing any more.
  public mutating func grantsEnded(_ grants: Set<String>) -> [Entry] {
    let ended = entries.filter { grants.contains($0.grant) }
    entries.removeAll { grants.contains($0.grant) }
    refusals = refusals.filter { !grants.contains($0.key.grant) }
    return ended
  }

  /// Text of a program as it is shown: on one line, without characters that hide or turn something.
  static func cleaned(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(longestReason).map { scalar -> Unicode.Scalar in
      scalar == "\n" || scalar == "\r" || scalar == "\t" ? " " : scalar.isHidden ? "?" : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }
}
