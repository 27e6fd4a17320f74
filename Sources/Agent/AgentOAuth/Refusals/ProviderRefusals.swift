package import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets
internal import Synchronization

/// What each provider said when it refused last, in its own words, in memory only: for `agent.diagnose` and for the log at
/// debug (docs/tokens.md, Failures).
package final class ProviderRefusals: Sendable {
  package struct Refusal: Sendable, Equatable {
    package var provider: ProviderName
    package var status: Int
    /// `error`, cleaned.
    package var error: String
    /// `error_description`, cleaned and bounded.
    package var description: String?

    package init(provider: ProviderName, status: Int, error: String, description: String? = nil) {
      self.provider = provider
      self.status = status
      self.error = error
      self.description = description
    }
  }

  /// Steps of a flow, and no refusals of it (RFC 8628 §3.5, RFC 9449 §8).
  private static let steps: Set<String> = ["authorization_pending", "slow_down", "use_dpop_nonce"]
  private static let longest = 200
  /// A word that long may be a token that the provider repeats.
  private static let longestWord = 24

  private let refusals = Mutex<[ProviderName: Refusal]>([:])
  private let log: any AgentLog

  package init(log: any AgentLog) { self.log = log }

  /// Sorted by the names of their providers.
  package var all: [Refusal] { refusals.withLock { $0.values.sorted { $0.provider < $1.provider } } }

  /// - Parameter secret: the client's, which the provider may repeat.
  package func record(
    _ refusal: TokenEndpointRefusal, from provider: ProviderName, hiding secret: Secret? = nil
  ) {
    guard let error = refusal.error ?? refusal.codes.first, !Self.steps.contains(error) else { return }
    let refused = Refusal(
      provider: provider, status: refusal.status, error: Self.cleaned(error, hiding: secret),
      description: (refusal.hidden ?? refusal.description).map { Self.cleaned($0, hiding: secret) })
    refusals.withLock { $0[provider] = refused }
    log.log(
      .debug, "provider refused",
      [
        (.provider, .hashed(provider.text)), (.status, .number(Int64(refused.status))),
        (.error, .quoted(refused.error)),
        (.description, .quoted(refused.description ?? "")),
      ])
  }

  /// The provider gave what was asked for.
  package func forget(_ provider: ProviderName) { refusals.withLock { $0[provider] = nil } }

  /// The vault was locked: nothing of the accounts is told any more.
  package func forgetAll() { refusals.withLock { $0 = [:] } }

  /// Printable ASCII without quotes and backslashes (RFC 6749 §5.2); long words are left out, since a provider may repeat
  /// a token in its text. Text that is too long ends with `…`.
  package static func cleaned(_ text: String, hiding secret: Secret? = nil) -> String {
    if let secret, contains(secret, text) { return "..." }
    let plain = text.unicodeScalars.map { scalar -> Character in
      scalar.isASCII && scalar.value >= 0x20 && scalar.value < 0x7F && scalar != "\"" && scalar != "\\"
        ? Character(scalar) : " "
    }
    let words = String(plain).split(separator: " ").map { $0.utf8.count > longestWord ? "..." : String($0) }
    let told = words.joined(separator: " ")
    return told.count > longest ? told.prefix(longest - 1) + "\u{2026}" : told
  }

  /// An address of a document, or what stands in its place, for people: printable ASCII, bounded.
  package static func shown(_ text: String) -> String {
    let plain = text.unicodeScalars.map { $0.value > 0x20 && $0.value < 0x7F && $0 != "`" ? Character($0) : "?" }
    return String(String(plain).prefix(longest))
  }

  private static func contains(_ secret: Secret, _ text: String) -> Bool {
    let text = Array(text.utf8)
    return secret.withBytes { bytes in
      guard !bytes.isEmpty, bytes.count <= text.count else { return false }
      return (0...text.count - bytes.count).contains { text[$0...].starts(with: bytes) }
    }
  }
}
