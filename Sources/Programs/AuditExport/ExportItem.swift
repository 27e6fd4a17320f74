public import AgentModel

/// What is exported in its order: entries, and what became of those that can't be.
public enum ExportItem: Hashable, Sendable {
  case entry(ExportEntry)
  /// The log dropped these before they could be exported. `at`: of the next entry that is there.
  case dropped(first: Int64, last: Int64, at: Timestamp)
  /// The log no longer has what was exported: an older copy of the store was put in its place. Export goes on after
  /// `after`.
  case wentBack(from: Int64, after: Int64, at: Timestamp)

  /// With the log's number it identifies the item, so that a collector can drop a repeat. Entries that were dropped have
  /// no other use for the last of their sequences.
  public var sequence: Int64 {
    switch self {
    case .entry(let entry): entry.sequence
    case .dropped(_, let last, _): last
    case .wentBack(_, let after, _): after
    }
  }

  /// The items for a page of entries, which follows `sequence`. A sequence that is missing was dropped: the log numbers
  /// its entries without gaps, and only decisions leave it within a year (docs/storage.md, Audit). An entry that does not
  /// come after the one before is left out.
  public static func items(after sequence: Int64, _ entries: [ExportEntry]) -> [ExportItem] {
    var (items, last): ([ExportItem], Int64) = ([], sequence)
    for entry in entries where entry.sequence > last {
      if entry.sequence > last + 1 {
        items.append(.dropped(first: last + 1, last: entry.sequence - 1, at: entry.at))
      }
      items.append(.entry(entry))
      last = entry.sequence
    }
    return items
  }
}
