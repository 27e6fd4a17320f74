import Foundation
import PracticeProvider

/// The demo: about 15 seconds. Each step explains, acts and checks.
final class Story {
  let stage: Stage
  let narrator: Narrator
  let byHand: Bool
  /// Every access token that a program received; `lookAtTheDisk` searches for them.
  var tokensSeen: Set<String> = []
  /// When `home` got a token that lives for `shortLifetimeSeconds`.
  var shortTokenIssued = ContinuousClock.now

  /// Just above the default minimum lifetime of a minute.
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
      Lanyard is one small agent that holds your accounts. You sign in once; your programs, in any language, ask the \
      agent for tokens. This demo runs in \(stage.directory) with an OpenID provider of its own at \
      \(stage.server.issuer), and leaves nothing behind.
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
    Terminal.print("\nEverything worked as described, in \(seconds) s. Go on with `lanyard --help`.")
  }

  // MARK: Actions

  /// Runs a command, prints it with its output, and checks its exit code.
  @discardableResult
  func run(_ words: String..., status: Int32 = 0, saying expected: String? = nil) throws -> Child.Ended {
    narrator.command(Self.typed(words))
    let ended = try stage.start(words).end()
    narrator.output(ended.text)
    try check(ended.status == status, "`\(Self.typed(words))` ended with \(ended.status), not with \(status)")
    if let expected { try check(ended.text.contains(expected), "it did not say: \(expected)") }
    return ended
  }

  /// Gets an access token with `lanyard token`.
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

  /// The refresh token exchanges at the provider so far.
  var refreshes: Int { stage.provider.requests(to: "/token").count { $0.grantType == "refresh_token" } }

  /// Waits until the token of `home` is valid for less than a minute.
  func waitUntilShort() {
    Thread.sleep(forTimeInterval: max(0, 1.2 - (ContinuousClock.now - shortTokenIssued) / .seconds(1)))
  }

  /// Quotes words for a shell.
  static func typed(_ words: [String]) -> String {
    words.map { word in
      let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=@,+".contains($0) }
      return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }.joined(separator: " ")
  }

  /// Writes a file to the working directory and prints it.
  func write(_ name: String, _ text: String) throws {
    try text.write(toFile: "\(stage.work)/\(name)", atomically: false, encoding: .utf8)
    narrator.command("cat \(name)")
    narrator.listing(text)
  }
}
