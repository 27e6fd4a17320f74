/// Where the audit log begins and ends: sealed, so that what was cut off at either side is noticed (DESIGN, Callers).
///
/// Each entry's link is a keyed digest over the link before it, its number and its sealed bytes. Who can't make links
/// can't edit, reorder, insert or remove an entry without breaking one.
public struct AuditChain: Hashable, Sendable {
  public static let linkBytes = 32
  /// What stands before the first entry of all.
  public static let origin = [UInt8](repeating: 0, count: linkBytes)

  /// How long the log becomes.
  public struct Bound: Hashable, Sendable {
    public var entries: Int64
    /// So many go at once when it is full, so that not each entry costs a deletion.
    public var rotated: Int64

    public init(entries: Int64, rotated: Int64) {
      self.entries = entries
      self.rotated = rotated
    }

    /// About 40 MB at 400 bytes each: years of a person's sign-ins, or a day of a busy program's decisions.
    public static let standard = Bound(entries: 100_000, rotated: 5_000)
  }

  /// The number of the first entry that is kept; they count from 1 and are never used again.
  public var first: Int64 = 1
  /// The link before it.
  public var before = origin
  /// The number of the last entry; 0 if there was none yet.
  public var last: Int64 = 0
  public var link = origin

  public init() {}

  public var count: Int64 { last - first + 1 }

  public mutating func append(_ link: [UInt8]) {
    last += 1
    self.link = link
  }

  /// Up to which entry the oldest have to go; nil while there is room. However many came at once, there is room after it.
  public func excess(over bound: Bound = .standard) -> Int64? {
    count > bound.entries ? max(first + bound.rotated - 1, last - bound.entries) : nil
  }

  /// The oldest went, the last of them with this link.
  public mutating func drop(through sequence: Int64, link: [UInt8]) {
    first = sequence + 1
    before = link
  }
}

/// Walks over the log in order and finds the first entry that is not as it was written.
public struct AuditWalk: Sendable {
  private let chain: AuditChain
  private var link: [UInt8]
  private var next: Int64
  public private(set) var checked: Int64 = 0
  /// The number of the first entry that is edited, missing, moved, or was never written.
  public private(set) var firstBroken: Int64?

  public init(_ chain: AuditChain) {
    self.chain = chain
    link = chain.before
    next = chain.first
  }

  /// - Parameters:
  ///   - computed: the link that the entry must have after the one given.
  ///   - opens: its contents open as those of an entry of this number.
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

  /// After the last entry that there is: does the log end where its head says?
  public mutating func finish() {
    guard firstBroken == nil else { return }
    if next != chain.last + 1 { firstBroken = next } else if link != chain.link { firstBroken = chain.last }
  }

  public var isIntact: Bool { firstBroken == nil }
}
