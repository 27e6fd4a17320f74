public import AgentModel

/// Verifies the log entry by entry, both rings in the order of their numbers, and finds the first altered one.
public struct AuditVerifier: Sendable {
  private let chains: AuditChains
  private let after: Int64
  private var links: [AuditRing: [UInt8]]
  private var next: Int64
  /// The lowest number without an entry since the last entry of a ring. It may be of an entry that left the other ring.
  private var gaps: [AuditRing: Int64] = [:]
  /// Number of intact entries so far whose numbers are above `after`.
  public private(set) var checked: Int64 = 0
  /// The number of the first entry that is altered, missing, moved or was not written by the agent; nil if there is
  /// none.
  public private(set) var firstBroken: Int64?

  public init(_ chains: AuditChains, countingAfter after: Int64 = 0) {
    self.chains = chains
    self.after = after
    links = [.security: chains.security.before, .decisions: chains.decisions.before]
    next = chains.first
  }

  /// Checks the next entry of the log.
  ///
  /// - Parameters:
  ///   - sequence: the entry's number.
  ///   - ring: the ring that it stands in.
  ///   - stored: the entry's stored link.
  ///   - opens: true if the entry decrypts under its number.
  ///   - computed: computes the entry's link from the previous link of its ring.
  public mutating func visit(
    _ sequence: Int64, in ring: AuditRing, link stored: [UInt8], opens: Bool, computed: (_ previous: [UInt8]) -> [UInt8]
  ) {
    guard firstBroken == nil else { return }
    // A missing number below `dense` may be of an entry that left the other ring, but for a ring's first. Then the
    // links tell.
    let missing = min(max(next, chains.dense), chains.firsts.filter { $0 >= next }.min() ?? .max)
    guard missing >= sequence else { return firstBroken = missing }
    if sequence > next { gaps.merge(AuditRing.allCases.map { ($0, next) }) { earlier, _ in earlier } }
    let chain = chains[ring]
    guard sequence >= next, sequence >= chain.first, sequence <= chain.last, opens,
      stored == computed(links[ring] ?? [])
    else { return firstBroken = min(sequence, gaps[ring].map { max($0, chain.first) } ?? sequence) }
    links[ring] = stored
    gaps[ring] = nil
    next = sequence + 1
    if sequence > after { checked += 1 }
  }

  /// Call after the last entry: checks that each ring ends at its newest entry.
  public mutating func finish() {
    guard firstBroken == nil else { return }
    guard next == chains.last + 1 else { return firstBroken = next }
    for ring in AuditRing.allCases where links[ring] != chains[ring].link {
      firstBroken = min(firstBroken ?? .max, gaps[ring] ?? .max, chains[ring].last)
    }
  }

  /// True if no broken entry was found.
  public var isIntact: Bool { firstBroken == nil }
}
