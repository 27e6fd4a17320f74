public import AgentModel

/// When a provider's documents are read again: beside an answer of the provider, and never by a timer.
public enum DocumentAge {
  /// Servers change their endpoints rarely, and announce it.
  public static let freshFor = Milliseconds.seconds(86_400)
  /// Older ones are read at the next answer.
  public static let atMost = Milliseconds.seconds(7 * 86_400)
  /// Between the two, one answer of so many is followed by a reading. In the morning the documents of ten thousand agents
  /// are a night older than a day, and their first answers come at once (docs/ten-thousand-agents.md).
  public static let oneAnswerOf = 16.0

  /// True if documents of this `age` are to be read beside this answer. `jitter` is a fraction from 0 up to 1, drawn for
  /// each answer to which it matters. A clock that was set back says nothing of the age.
  public static func isDue(age: Milliseconds, jitter: @autoclosure () -> Double) -> Bool {
    guard age >= .zero, age < atMost else { return true }
    return age >= freshFor && jitter() * oneAnswerOf < 1
  }
}
