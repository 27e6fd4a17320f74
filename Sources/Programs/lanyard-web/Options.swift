internal import CommandSupport
internal import PageGate

/// The options of `lanyard-web`. `lanyard ui` has the same but for the two of tests, and their help.
struct Options {
  /// 0: any that is free.
  var port: UInt16 = 0
  var opensBrowser = true
  var json = false
  var mayStartAgent = true
  /// For tests: how long the address opens the page.
  var codeSeconds = OpeningCode.usualSeconds
  /// For tests: after how long without a person the page ends.
  var idleSeconds: Int64 = 30 * 60

  init(_ words: [String]) throws(CommandFailure) {
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--json": json = true
      case "--no-start": mayStartAgent = false
      case "--no-browser": opensBrowser = false
      case "--quiet", "-q": Output.beQuiet()
      case "--port": port = try Self.number(rest.takeValue(of: word), word)
      case "--code-seconds": codeSeconds = try Self.number(rest.takeValue(of: word), word)
      case "--idle-seconds": idleSeconds = try Self.number(rest.takeValue(of: word), word)
      default: throw .usage("\(Text.shown(word)) is no option of lanyard-web: `lanyard ui --help` lists them.")
      }
    }
  }

  private static func number<Number: FixedWidthInteger>(
    _ text: String, _ option: String
  ) throws(CommandFailure) -> Number {
    guard let number = Number(text), number >= 0 else {
      throw .usage("\(Text.shown(text)) is no number for \(option).")
    }
    return number
  }
}
