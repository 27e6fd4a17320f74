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
    var rest = OptionWords(words, help: "lanyard help ui")
    while let word = rest.next() {
      switch word {
      case "--json": json = true
      case "--no-start": mayStartAgent = false
      case "--no-browser": opensBrowser = false
      case "--quiet", "-q": Output.beQuiet()
      case "--port": port = try rest.number(of: word)
      case "--code-seconds": codeSeconds = try rest.number(of: word)
      case "--idle-seconds": idleSeconds = try rest.number(of: word)
      default: throw rest.unknown(word)
      }
    }
  }
}
