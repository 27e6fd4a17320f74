/// Numbers of decisions by effect and reason, of fixed size.
public struct DecisionCounts: Hashable, Sendable {
  /// The place of an effect and a reason, so that counting looks for nothing.
  public struct Cell: Hashable, Sendable {
    fileprivate let index: Int

    public init(_ effect: Decision.Effect, _ reason: Decision.Reason) {
      index =
        Decision.Effect.allCases.firstIndex(of: effect)! * DecisionCounts.reasons
        + Decision.Reason.allCases.firstIndex(of: reason)!
    }
  }

  private static let reasons = Decision.Reason.allCases.count
  private var cells = [Int64](repeating: 0, count: Decision.Effect.allCases.count * reasons)

  public init() {}

  public subscript(_ effect: Decision.Effect, _ reason: Decision.Reason) -> Int64 { cells[Cell(effect, reason).index] }

  public mutating func count(_ cell: Cell) { cells[cell.index] += 1 }

  /// Adds the counts of `others`, cell by cell.
  public mutating func add(_ others: DecisionCounts) {
    for index in cells.indices { cells[index] += others.cells[index] }
  }

  /// All of them.
  public var total: Int64 { cells.reduce(0, +) }
}
