/// What answers of a token endpoint mean, as rows. The order of the columns decides where two of them speak, the order
/// of the rows never does: no row hides another.
public struct FailureTable: Sendable {
  public let name: String
  public let rows: [Row]

  init(_ name: String, _ rows: [Row]) {
    self.name = name
    self.rows = rows
  }

  public struct Row: Hashable, Sendable {
    public let sign: Sign
    public let meaning: Meaning
    /// The word of the standards that says the same, where the provider has one of its own.
    public let word: String?
  }

  /// What a row is recognized by, one column each.
  public enum Sign: Hashable, Sendable {
    case status(ClosedRange<Int>)
    case code(String)
    /// A whole `error_description`. Providers reword them, so only where there is no other sign.
    case description(String)
    case suberror(String)
    /// This `error` with a claims challenge beside it.
    case claims(error: String)
    case error(String)
  }

  public enum Meaning: Hashable, Sendable {
    /// Later; after `FailureClassifier.throttledPause` if the provider names no time.
    case throttled
    case transient, reauthenticate, locked, interaction, misconfigured
  }

  /// The row that knows this answer, if any: by status, then by the most particular thing that the answer says.
  public func row(for refusal: TokenEndpointRefusal) -> Row? {
    let columns: [(Sign) -> Bool] = [
      { if case .status(let range) = $0 { range.contains(refusal.status) } else { false } },
      { if case .code(let code) = $0 { refusal.codes.contains(code) } else { false } },
      { if case .description(let text) = $0 { refusal.description == text } else { false } },
      { if case .suberror(let word) = $0 { refusal.suberror == word } else { false } },
      { if case .claims(let error) = $0 { refusal.error == error && refusal.claims != nil } else { false } },
      { if case .error(let word) = $0 { refusal.error == word } else { false } },
    ]
    for column in columns {
      if let row = rows.first(where: { column($0.sign) }) { return row }
    }
    return nil
  }
}

/// How rows are written down.
extension FailureTable.Row {
  static func status(_ status: Int, _ meaning: FailureTable.Meaning) -> Self { .status(status...status, meaning) }
  static func status(_ statuses: ClosedRange<Int>, _ meaning: FailureTable.Meaning) -> Self {
    Self(sign: .status(statuses), meaning: meaning, word: nil)
  }
  static func code(_ code: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .code(code), meaning: meaning, word: word)
  }
  static func description(_ text: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .description(text), meaning: meaning, word: word)
  }
  static func suberror(_ suberror: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .suberror(suberror), meaning: meaning, word: word)
  }
  static func claims(with error: String, _ meaning: FailureTable.Meaning) -> Self {
    Self(sign: .claims(error: error), meaning: meaning, word: nil)
  }
  static func error(_ error: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .error(error), meaning: meaning, word: word)
  }
}
