/// Finds out whether the log is still the one that was exported. An older copy of the store, or a new one, numbers other
/// entries with the same sequences.
///
/// Ask the log for one entry after `question`, and hand it to `take`, until there is a verdict.
public struct CursorCheck: Sendable {
  /// What is known after an answer.
  public enum Verdict: Hashable, Sendable {
    case unknown
    /// It is: go on after the cursor.
    case same
    /// It went back: go on after this checkpoint, or from the beginning.
    case wentBack(to: ExportCursor.Checkpoint?)
  }

  private var rest: [ExportCursor.Checkpoint]
  private let newest: Int64?

  public init(_ cursor: ExportCursor) {
    rest = cursor.checkpoints
    newest = rest.last?.sequence
  }

  /// The next entry to ask for is the first one after this sequence; nil if nothing was exported, so that any log will do.
  public var question: Int64? { rest.last.map { $0.sequence - 1 } }

  /// Takes the first entry after `question`; nil if there is none.
  public mutating func take(_ entry: ExportEntry?) -> Verdict {
    guard let asked = rest.popLast() else { return .same }
    if let entry {
      // An entry that left the log tells nothing. Its successors are there, and the newer checkpoints have spoken.
      let isThere = entry.sequence == asked.sequence ? entry.digest == asked.digest : entry.sequence > asked.sequence
      if isThere { return asked.sequence == newest ? .same : .wentBack(to: asked) }
    }
    return rest.isEmpty ? .wentBack(to: nil) : .unknown
  }
}
