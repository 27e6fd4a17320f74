/// The bounds of the audit log, stored encrypted, so that truncation at either end is detected (docs/storage.md,
/// Audit).
///
/// An entry's link is a keyed digest over the previous link, the entry's number and its encrypted bytes. Without the
/// key, an entry can't be edited, moved, inserted or removed without breaking a link.
public struct AuditChain: Hashable, Sendable {
  public static let linkBytes = 32
  /// The link before the first entry ever written.
  public static let origin = [UInt8](repeating: 0, count: linkBytes)

  /// The maximum size of the log.
  public struct Bound: Hashable, Sendable {
    /// Maximum number of entries.
    public var entries: Int64
    /// Number of entries that a rotation removes at once, so that not every entry costs a deletion.
    public var rotated: Int64

    public init(entries: Int64, rotated: Int64) {
      self.entries = entries
      self.rotated = rotated
    }

    /// About 40 MB at 400 bytes an entry: years of a person's sign-ins, or a day of a busy program's decisions.
    public static let standard = Bound(entries: 100_000, rotated: 5_000)
  }

  /// The number of the oldest entry in the log. Numbers start at 1 and are never reused.
  public var first: Int64 = 1
  /// The link before `first`.
  public var before = origin
  /// The number of the newest entry; 0 if the log was never written.
  public var last: Int64 = 0
  /// The link of the newest entry.
  public var link = origin

  public init() {}

  public var count: Int64 { last - first + 1 }

  public mutating func append(_ link: [UInt8]) {
    last += 1
    self.link = link
  }

  /// The last entry that rotation removes; nil if the log is within `bound`. After the removal the log is within
  /// `bound`, however many entries one batch added.
  public func excess(over bound: Bound = .standard) -> Int64? {
    count > bound.entries ? max(first + bound.rotated - 1, last - bound.entries) : nil
  }

  /// Records that entries up to `sequence` were removed; `link` is the link of the last of them.
  public mutating func drop(through sequence: Int64, link: [UInt8]) {
    first = sequence + 1
    before = link
  }
}

/// Verifies the log entry by entry, in order, and finds the first altered one.
public struct AuditVerifier: Sendable {
  private let chain: AuditChain
  private var link: [UInt8]
  private var next: Int64
  /// Number of intact entries so far.
  public private(set) var checked: Int64 = 0
  /// The number of the first entry that is altered, missing, moved or was not written by the agent; nil if there is
  /// none.
  public private(set) var firstBroken: Int64?

  public init(_ chain: AuditChain) {
    self.chain = chain
    link = chain.before
    next = chain.first
  }

  /// Checks the next entry of the log.
  ///
  /// - Parameters:
  ///   - sequence: the entry's number.
  ///   - stored: the entry's stored link.
  ///   - opens: true if the entry decrypts under its number.
  ///   - computed: computes the entry's link from the previous link.
  public mutating func visit(
    _ sequence: Int64, link stored: [UInt8], opens: Bool, computed: (_ previous: [UInt8]) -> [UInt8]
  ) {
    guard firstBroken == nil else { return }
    guard sequence == next, sequence <= chain.last, opens, stored == computed(link) else {
      return firstBroken = min(sequence, next)
    }
    link = stored
    next += 1
    checked += 1
  }

  /// Call after the last entry: checks that the log ends at the chain's newest entry.
  public mutating func finish() {
    guard firstBroken == nil else { return }
    if next != chain.last + 1 { firstBroken = next } else if link != chain.link { firstBroken = chain.last }
  }

  /// True if no broken entry was found.
  public var isIntact: Bool { firstBroken == nil }
}
