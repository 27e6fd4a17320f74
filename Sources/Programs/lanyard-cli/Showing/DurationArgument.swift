/// Parses durations of the command line: `90s`, `15m`, `12h`, `7d`.
enum DurationArgument {
  private static let secondsOfUnit: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
  /// Keeps the product of count and unit far from overflow.
  private static let largestCount = 1_000_000_000

  /// Seconds; nil if the text is no duration.
  static func seconds(_ text: some StringProtocol) -> Int? {
    guard let unit = text.last.flatMap({ secondsOfUnit[$0] }), let count = Int(text.dropLast()),
      (0...largestCount).contains(count)
    else { return nil }
    return count * unit
  }
}
