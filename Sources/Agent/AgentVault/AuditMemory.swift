internal import AgentCore
internal import AgentModel
internal import AgentPorts

/// Where the log has an entry.
package struct AuditPlace: Hashable, Sendable {
  /// Of the entry, as in `AuditAppend`. A repeat has the name of the entry that counts it.
  package var name: String
  package var sequence: Int64
}

/// The newest entries of a ring, into which repeats are counted. In memory only: after a start, an unlock and a failed
/// commit the first repeat is an entry of its own.
struct AuditTail {
  /// Each commit works on a copy of the tail, so an entry is little to copy.
  struct Entry {
    private let fixed: Fixed
    /// Equal for equal `sameness`.
    let samenessHash: Int
    var repeats: AuditRepeats
    var row: AuditRow
    var isChanged = true
    /// False once something else happened to the account: a repeat would stand before it.
    var isOpen = true

    init(append: AuditAppend, repeats: AuditRepeats, row: AuditRow) {
      fixed = Fixed(append)
      samenessHash = append.samenessHash
      self.repeats = repeats
      self.row = row
    }

    var append: AuditAppend { fixed.append }
    var place: AuditPlace { AuditPlace(name: append.name, sequence: row.sequence) }

    private final class Fixed: Sendable {
      let append: AuditAppend

      init(_ append: AuditAppend) { self.append = append }
    }
  }

  /// The link before the first entry.
  var base: [UInt8]
  var entries: [Entry] = []

  /// A change writes the rows after it again, since their links change. 256 rows take about 100 KB.
  static let most = 256

  /// The entry that counts `append`.
  func place(of append: AuditAppend) -> Int? {
    guard append.coalesces else { return nil }
    let hash = append.samenessHash
    return entries.indices.last { index in
      guard entries[index].samenessHash == hash, entries[index].isOpen else { return false }
      var repeats = entries[index].repeats
      return repeats.add(at: append.at) && entries[index].append.sameness == append.sameness
    }
  }

  /// The first entry that is not in the store as it is here.
  var firstChange: Int? { entries.indices.first { entries[$0].isChanged } }

  mutating func trim() {
    guard entries.count > Self.most else { return }
    let first = entries.count - Self.most
    base = entries[first - 1].row.link
    entries.removeFirst(first)
  }
}

/// The audit log as the vault knows it: the rings' bounds and newest entries.
struct AuditMemory {
  var chains: AuditChains
  var tails: [AuditRing: AuditTail] = [:]
  /// The places of the last commit's entries, in their order.
  var places: [AuditPlace] = []
  /// True if the last commit had repeats of an entry that is gone or damaged: they are in no entry.
  var lacksRepeats = false

  /// Counts a repeat in an entry that is there, and returns its place; nil if there is none.
  mutating func count(_ append: AuditAppend) -> AuditPlace? {
    guard let index = tails[append.ring]?.place(of: append) else { return nil }
    _ = tails[append.ring]!.entries[index].repeats.add(at: append.at)
    tails[append.ring]!.entries[index].isChanged = true
    return tails[append.ring]!.entries[index].place
  }

  /// Takes in the repeats of an entry; false if the entry changes no more.
  mutating func count(_ tally: RepeatTally) -> Bool {
    guard let index = tails[.decisions]?.entries.lastIndex(where: { $0.row.sequence == tally.sequence }) else {
      return false
    }
    tails[.decisions]!.entries[index].repeats.add(tally.repeats)
    tails[.decisions]!.entries[index].isChanged = true
    return true
  }

  /// No repeat is counted in a decision that stands before an event about its account.
  mutating func close(before event: AuditAppend) {
    guard var tail = tails.removeValue(forKey: .decisions) else { return }
    for index in tail.entries.indices
    where event.account == nil || tail.entries[index].append.account == event.account {
      tail.entries[index].isOpen = false
    }
    tails[.decisions] = tail
  }
}
