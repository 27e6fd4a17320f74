import Secrets
import Synchronization

/// The last tokens that this proxy was given: an agent that was started again knows no earlier ones.
final class GivenTokens: Sendable {
  private struct Given {
    var fingerprint: String
    var token: Secret
  }

  /// The newest last.
  private let tokens = Mutex<[Given]>([])

  /// Tokens live for about an hour, and a refresh brings one for each account; each is searched for in all answers.
  private static let most = 16

  /// Returns the others, and keeps this one.
  func adding(_ token: Secret, _ fingerprint: String) -> [Secret] {
    tokens.withLock { tokens in
      tokens.removeAll { $0.fingerprint == fingerprint }
      let others = tokens.map(\.token)
      tokens.append(Given(fingerprint: fingerprint, token: token))
      if tokens.count > Self.most { tokens.removeFirst() }
      return others
    }
  }
}
