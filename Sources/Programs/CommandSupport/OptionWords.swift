internal import UsageWords

/// The words of a program whose help stands in `lanyard`.
public struct OptionWords {
  private var rest: ArraySlice<String>
  /// The command that shows the help.
  private let help: String

  public init(_ words: [String], help: String) {
    rest = words[...]
    self.help = help
  }

  public mutating func next() -> String? { rest.popFirst() }

  /// Takes the word behind an option.
  public mutating func value(of option: String) throws(CommandFailure) -> String {
    guard let value = rest.popFirst(), !value.isEmpty else { throw mistake(Mistake.missingValue(of: option)) }
    return value
  }

  /// Takes the number behind an option.
  public mutating func number<Number: FixedWidthInteger>(
    of option: String, atLeast least: Number = 0
  ) throws(CommandFailure) -> Number {
    let text = try value(of: option)
    guard let number = Number(text), number >= least else { throw mistake(Mistake.invalidValue(text, of: option)) }
    return number
  }

  /// The failure for a word that the program does not take.
  public func unknown(_ word: String) -> CommandFailure { mistake(Mistake.unknown(word)) }

  private func mistake(_ message: String) -> CommandFailure { .usage(message, hints: [Mistake.hint(help)]) }
}
