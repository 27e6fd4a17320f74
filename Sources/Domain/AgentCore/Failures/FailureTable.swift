/// A table of token endpoint errors and their meanings. If several columns match, the column order decides. Row order
/// never matters: no two rows have the same sign.
public struct FailureTable: Sendable {
  public let name: String
  public let rows: [Row]

  init(_ name: String, _ rows: [Row]) {
    self.name = name
    self.rows = rows
  }

  /// One error and its meaning.
  public struct Row: Hashable, Sendable {
    public let sign: Sign
    public let meaning: Meaning
    /// The standard `error` with the same meaning, if the provider uses an error of its own.
    public let standardError: String?
    /// Why the session has ended, for `reauthenticate`: one word for programs.
    public var reason: String?
  }

  /// The column and value that identify an error.
  public enum Sign: Hashable, Sendable {
    case status(ClosedRange<Int>)
    case code(String)
    /// A complete `error_description`. Providers reword them, so use it only without another sign.
    case description(String)
    /// Words, with blanks between them, that stand in `error` or in `error_description` in any case and spelling: for a
    /// meaning that servers reword and that ends nothing.
    case phrase(String)
    case suberror(String)
    /// This `error` together with a claims challenge.
    case claims(error: String)
    /// A stable code of an API contract, in any of its places (`ContractCode`): it says more than an `error` beside it.
    case contract(String)
    case error(String)
    /// A general one, in exactly this spelling: it says less than an `error` beside it, and servers also send the phrase of
    /// the status so (`Unauthorized`).
    case contractWord(String)
  }

  /// The meaning of an error for the account.
  public enum Meaning: Hashable, Sendable {
    /// Retry after `FailureClassifier.throttledPause`, unless the response has a `Retry-After`.
    case throttled
    case transient, reauthenticate, locked, interaction, misconfigured
  }

  /// The row that matches `refusal`, if any: by status first, then by the most specific sign.
  public func row(for refusal: TokenEndpointRefusal) -> Row? {
    let contractCodes = refusal.contractCodes
    let words = [refusal.error, refusal.description].compactMap { $0 }.map(Self.plainWords)
    let columns: [(Sign) -> Bool] = [
      { if case .status(let range) = $0 { range.contains(refusal.status) } else { false } },
      { if case .code(let code) = $0 { refusal.codes.contains(code) } else { false } },
      { if case .description(let text) = $0 { refusal.description == text } else { false } },
      { if case .phrase(let text) = $0 { words.contains { $0.contains(text) } } else { false } },
      { if case .suberror(let word) = $0 { refusal.suberror == word } else { false } },
      { if case .claims(let error) = $0 { refusal.error == error && refusal.claims != nil } else { false } },
      { if case .contract(let code) = $0 { contractCodes.contains(code) } else { false } },
      { if case .error(let word) = $0 { refusal.error == word } else { false } },
      { if case .contractWord(let word) = $0 { refusal.error == word || refusal.codes.contains(word) } else { false } },
    ]
    for column in columns {
      if let row = rows.first(where: { column($0.sign) }) { return row }
    }
    return nil
  }

  /// In small letters, with blanks for what joins words.
  private static func plainWords(_ text: String) -> String {
    String(text.lowercased().map { $0 == "_" || $0 == "-" ? " " : $0 })
  }
}

/// Constructors for the tables.
extension FailureTable.Row {
  static func status(_ status: Int, _ meaning: FailureTable.Meaning) -> Self { .status(status...status, meaning) }
  static func status(_ statuses: ClosedRange<Int>, _ meaning: FailureTable.Meaning) -> Self {
    Self(sign: .status(statuses), meaning: meaning, standardError: nil)
  }
  static func code(_ code: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .code(code), meaning: meaning, standardError: word)
  }
  static func description(_ text: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .description(text), meaning: meaning, standardError: word)
  }
  static func phrase(_ text: String, _ meaning: FailureTable.Meaning) -> Self {
    Self(sign: .phrase(text), meaning: meaning, standardError: nil)
  }
  static func suberror(_ suberror: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .suberror(suberror), meaning: meaning, standardError: word)
  }
  static func claims(with error: String, _ meaning: FailureTable.Meaning) -> Self {
    Self(sign: .claims(error: error), meaning: meaning, standardError: nil)
  }
  static func contract(
    _ code: String, _ meaning: FailureTable.Meaning, because reason: String? = nil, as word: String? = nil
  ) -> Self {
    Self(sign: .contract(code), meaning: meaning, standardError: word, reason: reason)
  }
  static func contractWord(_ code: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .contractWord(code), meaning: meaning, standardError: word)
  }
  static func error(_ error: String, _ meaning: FailureTable.Meaning, as word: String? = nil) -> Self {
    Self(sign: .error(error), meaning: meaning, standardError: word)
  }
}
