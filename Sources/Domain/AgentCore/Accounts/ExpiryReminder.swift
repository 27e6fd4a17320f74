public import AgentModel

/// How often a person is told that a secret ends: three times, once each (docs/secrets.md, Expiry). The raw values are
/// stored.
public enum ExpiryReminder: String, CaseIterable, Hashable, Sendable {
  case week, day, hour
  /// Its end has come.
  case end

  /// How long before the end it comes.
  public var lead: Milliseconds {
    switch self {
    case .week: .seconds(7 * 86_400)
    case .day: .seconds(86_400)
    case .hour: .seconds(3600)
    case .end: .zero
    }
  }

  /// The last one whose moment has come; nil before the first.
  public static func passed(_ end: Timestamp, at now: Timestamp) -> ExpiryReminder? {
    allCases.last { end + (.zero - $0.lead) <= now }
  }

  /// The reminder that is due; nil if none is. Of several whose moments passed while the agent did not run, the last.
  ///
  /// - Parameter told: the last one that was told, or whose moment had passed when the end became known.
  public static func due(_ end: Timestamp, told: ExpiryReminder?, at now: Timestamp) -> ExpiryReminder? {
    guard let passed = passed(end, at: now), passed != told else { return nil }
    // The clock went back: nothing is told twice.
    guard let told else { return passed }
    return told.lead > passed.lead ? passed : nil
  }

  /// When the next one is due after the one that was told last; nil after the end.
  public static func next(_ end: Timestamp, told: ExpiryReminder?) -> Timestamp? {
    let left = told.map { told in allCases.filter { $0.lead < told.lead } } ?? allCases
    return left.first.map { end + (.zero - $0.lead) }
  }
}
