public import AgentModel

/// The bounds of one ring of the audit log, stored encrypted, so that truncation at either end is detected
/// (docs/storage.md, Audit).
///
/// An entry's link is a keyed digest over the previous link of its ring, the entry's number and its encrypted bytes.
/// Without the key, an entry can't be edited, moved, inserted or removed without breaking a link. Both rings share one
/// count, so that a number names one entry and tells the order.
public struct AuditChain: Hashable, Sendable {
  public static let linkBytes = 32
  /// The link before the first entry ever written.
  public static let origin = [UInt8](repeating: 0, count: linkBytes)

  /// The entries that a ring keeps.
  public struct Bound: Hashable, Sendable {
    public enum Retention: Hashable, Sendable {
      /// At most this many.
      case entries(Int64)
      /// Those of the last `age`, but at most about `most`.
      case age(Milliseconds, most: Int64 = .max)
    }
    public var retention: Retention
    /// Entries leave a ring in segments of this size, so that not every entry costs a deletion.
    public var segment: Int64

    public init(_ retention: Retention, segment: Int64) {
      self.retention = retention
      self.segment = segment
    }

    /// One oldest segment leaves per new segment, so that a clock that jumps ahead once removes 5,000 entries at most.
    ///
    /// A million entries take about 400 MB. One client at its quota (`AuditQuota`) needs three weeks to write so many.
    public static let security = Bound(.age(.seconds(366 * 86_400), most: 1_000_000), segment: 5_000)
    /// About 40 MB at 400 bytes an entry.
    public static let decisions = Bound(.entries(100_000), segment: 5_000)
  }

  /// Entries that leave the ring together.
  public struct Segment: Hashable, Sendable {
    /// The number and the link of its last entry.
    public var through: Int64
    public var link: [UInt8]
    public var count: Int64
    /// When its last entry was written.
    public var newest: Timestamp

    public init(through: Int64, link: [UInt8], count: Int64, newest: Timestamp) {
      self.through = through
      self.link = link
      self.count = count
      self.newest = newest
    }
  }

  /// The number of the oldest entry. Numbers start at 1 and are never reused.
  public var first: Int64 = 1
  /// The link before `first`.
  public var before = origin
  /// The number of the newest entry; 0 if the ring was never written.
  public var last: Int64 = 0
  /// The link of the newest entry.
  public var link = origin
  public var count: Int64 = 0
  /// The full segments, oldest first. The entries after them form the segment that is being filled.
  public var segments: [Segment] = []
  /// The number of the last batch of counted repeats.
  public var batch: Int64 = 0
  /// The boot in which repeats are counted outside the log now; nil while every repeat is in it.
  public var countingBoot: String?

  public init() {}

  public var isEmpty: Bool { count == 0 }

  public var unsegmented: Int64 { count - segments.reduce(0) { $0 + $1.count } }

  public mutating func append(_ link: [UInt8], as sequence: Int64) {
    if isEmpty { first = sequence }
    last = sequence
    self.link = link
    count += 1
  }

  /// Ends the segment if it is full. Afterwards the links of its entries must not change.
  public mutating func endSegment(of bound: Bound, at now: Timestamp) -> Bool {
    guard unsegmented >= bound.segment else { return false }
    segments.append(Segment(through: last, link: link, count: unsegmented, newest: now))
    return true
  }

  /// The segment that rotation removes now; nil if the ring is within `bound`. For rings that are kept by age, ask once
  /// after each segment that ended.
  public func excess(over bound: Bound, at now: Timestamp) -> Segment? {
    guard let oldest = segments.first else { return nil }
    return switch bound.retention {
    case .entries(let most): count > most ? oldest : nil
    case .age(let age, let most):
      segments.count > 1 && (oldest.newest + age < now || count > most) ? oldest : nil
    }
  }

  /// Records that the oldest segment was removed; `link` is the link of its last entry as stored.
  public mutating func dropSegment(link: [UInt8]) {
    let dropped = segments.removeFirst()
    first = dropped.through + 1
    before = link
    count -= dropped.count
  }
}

/// The bounds of both rings.
public struct AuditChains: Hashable, Sendable {
  public var security = AuditChain()
  public var decisions = AuditChain()

  public init() {}

  public subscript(ring: AuditRing) -> AuditChain {
    get {
      switch ring {
      case .security: security
      case .decisions: decisions
      }
    }
    set {
      switch ring {
      case .security: security = newValue
      case .decisions: decisions = newValue
      }
    }
  }

  /// The number of the newest entry; 0 if the log was never written.
  public var last: Int64 { max(security.last, decisions.last) }

  /// The number of the oldest entry.
  public var first: Int64 { firsts.min() ?? 1 }

  /// From here on every number is one of an entry: smaller numbers may be of entries that left their ring.
  var dense: Int64 { firsts.max() ?? 1 }

  /// The number of the oldest entry of each ring that has any.
  var firsts: [Int64] { [security, decisions].filter { !$0.isEmpty }.map(\.first) }
}
