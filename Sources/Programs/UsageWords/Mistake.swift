/// What a program says of a mistake in its command line. `lanyard-cli` has some of the words from ArgumentParser.
public enum Mistake {
  /// A word that is not expected there. What stands behind the `=` of an option may be a secret, and is left out.
  public static func unknown(_ word: String) -> String {
    guard word.hasPrefix("-") else { return "Unexpected argument '\(word)'." }
    return unknownOption(word.hasPrefix("--") ? String(word.prefix { $0 != "=" }) : word)
  }

  /// - Parameter meant: the options that were probably meant.
  public static func unknownOption(_ option: String, meant: [String] = []) -> String {
    let quoted = meant.map { "'\($0)'" }
    let most = quoted.dropLast().joined(separator: ", ")
    return "Unknown option '\(option)'."
      + (quoted.last.map { " Did you mean \(most.isEmpty ? $0 : most + " or " + $0)?" } ?? "")
  }

  /// - Parameter meant: the whole command that was probably meant.
  public static func unknownCommand(_ word: String, meant: String? = nil) -> String {
    "Unknown command `\(word)`." + (meant.map { " Did you mean `\($0)`?" } ?? "")
  }

  public static func missingValue(of option: String) -> String { "Missing value for '\(option)'." }

  public static func invalidValue(_ value: String, of option: String, because reason: String? = nil) -> String {
    "The value '\(value)' is invalid for '\(option)'" + (reason.map { ": \($0)." } ?? ".")
  }

  public static func both(_ first: String, _ second: String) -> String { "Choose \(first) or \(second), not both." }

  /// The next step after a mistake.
  public static func hint(_ command: String) -> String { "`\(command)` shows how to use it." }

  /// What ArgumentParser says, which may be without its full stop, in these words where its own are no plain English.
  public static func reworded(_ message: String) -> String {
    // Where a word of the command line is quoted, it is at an odd place.
    let parts = message.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
    switch (parts.first, parts.count) {
    case ("Missing expected argument ", 3): return "Missing \(kind(parts[1])) '\(parts[1])'."
    case ("Value to be set with flag ", 5) where parts[2] == " had already been set with flag ":
      return both(parts[3], parts[1])
    default: return message.last.map { ".?!".contains($0) } ?? true ? message : message + "."
    }
  }

  private static func kind(_ synopsis: String) -> String { synopsis.hasPrefix("-") ? "option" : "argument" }

  /// `text` with every character escaped that could steer a terminal or be taken for another one.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? String($0) : $0.escaped(asASCII: true) }.joined()
  }
}
