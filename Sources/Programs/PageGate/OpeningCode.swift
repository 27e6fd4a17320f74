/// The code of the address that `lanyard ui` prints. It opens one session, once.
package struct OpeningCode: Sendable {
  /// How long it opens.
  package static let usualSeconds: Int64 = 60
  /// So many wrong ones close it: someone guesses.
  package static let mostWrong = 10

  /// What became of a code that a browser sent.
  package enum Outcome: Sendable, Hashable {
    case opened
    case wrong
    case late
    /// It has opened already.
    case used
    /// Too many wrong ones came before.
    case closed
  }

  private let text: [UInt8]
  private let endsAt: Int64
  private var isUsed = false
  private var wrong = 0

  /// - Parameters:
  ///   - text: random, and too long to be guessed in ten tries.
  ///   - endsAt: in milliseconds, of any clock that does not go back.
  package init(_ text: String, endsAt: Int64) { (self.text, self.endsAt) = (Array(text.utf8), endsAt) }

  /// Judges a code that came at `now`, of the same clock.
  package mutating func redeem(_ guess: String, at now: Int64) -> Outcome {
    if isUsed { return .used }
    guard wrong < Self.mostWrong else { return .closed }
    guard now < endsAt else { return .late }
    guard ConstantTime.equal(Array(guess.utf8), text) else {
      wrong += 1
      return .wrong
    }
    isUsed = true
    return .opened
  }
}
