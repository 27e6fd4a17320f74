import Foundation
import PracticeProvider

/// The demo: what a person sees of Lanyard in a quarter of a minute. Each step tells, does and checks.
final class Story {
  let stage: Stage
  let narrator: Narrator
  let byHand: Bool
  /// Every access token that a program was given, to be looked for where none may be.
  var tokensSeen: Set<String> = []
  /// When home got a token that lives for `shortLifetimeSeconds`.
  var shortTokenIssued = ContinuousClock.now

  /// Just over the minute for which a token must be good when a caller says nothing.
  static let shortLifetimeSeconds = 61

  init(stage: Stage, narrator: Narrator, byHand: Bool) {
    self.stage = stage
    self.narrator = narrator
    self.byHand = byHand
  }

  func tell() throws {
    let began = ContinuousClock.now
    narrator.say(
      """
      Lanyard is one small agent that holds the accounts you wear. You sign in once; every program of yours, in \
      whatever language, asks the agent for tokens. This demo plays in \(stage.directory) with an OpenID provider of \
      its own at \(stage.server.issuer), and leaves nothing behind.
      """)
    try startAgent()
    try signIn()
    try listAndSwitch()
    try askFromPython()
    try askTwentyAtOnce()
    try crash()
    try outage()
    try lookAtTheDisk()
    try signOut()
    try end()
    let seconds = (ContinuousClock.now - began).components.seconds
    Terminal.print("\nEverything was as told, in \(seconds) s. `lanyard --help` is where to go on.")
  }

  // MARK: Doing

  /// Runs a command as a person would type it, shows it with what it says, and checks how it ends.
  @discardableResult
  func run(_ words: String..., status: Int32 = 0, saying expected: String? = nil) throws -> Child.Ended {
    narrator.command(Self.typed(words))
    let ended = try stage.start(words).end()
    narrator.output(ended.text)
    try check(ended.status == status, "`\(Self.typed(words))` ended with \(ended.status), not with \(status)")
    if let expected { try check(ended.text.contains(expected), "it did not say: \(expected)") }
    return ended
  }

  /// An access token for an account, from the command line.
  func token(_ account: String, _ more: String...) throws -> String {
    let words = ["lanyard", "token", account] + more
    narrator.command(Self.typed(words))
    let ended = try stage.start(words).end()
    narrator.output(ended.text)
    try check(ended.status == 0, "`\(Self.typed(words))` ended with \(ended.status)")
    let token = ended.output.trimmingCharacters(in: .newlines)
    try check(!token.isEmpty && !token.contains("\n"), "it did not print one token alone")
    tokensSeen.insert(token)
    return token
  }

  func check(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
    guard isSo else { throw NotAsTold(otherwise()) }
  }

  /// The refresh token exchanges that the provider was asked for.
  var refreshes: Int { stage.provider.requests(to: "/token").count { $0.grantType == "refresh_token" } }

  /// Until home's token is good for less than a minute.
  func waitUntilShort() {
    Thread.sleep(forTimeInterval: max(0, 1.2 - (ContinuousClock.now - shortTokenIssued) / .seconds(1)))
  }

  /// Words as they would be typed in a shell.
  static func typed(_ words: [String]) -> String {
    words.map { word in
      let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=@,+".contains($0) }
      return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }.joined(separator: " ")
  }

  /// A file in the demo's working directory, shown.
  func write(_ name: String, _ text: String) throws {
    try text.write(toFile: "\(stage.work)/\(name)", atomically: false, encoding: .utf8)
    narrator.command("cat \(name)")
    narrator.listing(text)
  }
}
