package import AgentModel

/// When a document is asked for again without which no account can be made of issued tokens: these are good only once, so
/// one failure that passes must not end the sign-in.
package struct DocumentTries: Sendable {
  /// Before the second and the third try: a server that restarts behind a gateway is back by then.
  private static let pauses: [Milliseconds] = [.seconds(1), .seconds(2)]
  /// A longer pause that the server asks for is cut: the tokens would be lost with the sign-in.
  private static let longestPause = Milliseconds.seconds(5)
  /// No further try begins later, since a person waits, or a program.
  private static let patience = Milliseconds.seconds(15)

  private let began: BootInstant
  private var failures = 0

  package init(at now: BootInstant) { began = now }

  /// When to ask again; nil if the failure counts.
  package mutating func next(after failure: DocumentFailure, at now: BootInstant) -> BootInstant? {
    guard failure.isTemporary, failures < Self.pauses.count else { return nil }
    var pause = Self.pauses[failures]
    if case .unavailable(_, let asked?) = failure { pause = max(pause, min(asked, Self.longestPause)) }
    failures += 1
    let next = now + pause
    return next - began <= Self.patience ? next : nil
  }
}
