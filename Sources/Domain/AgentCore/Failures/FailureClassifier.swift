public import AgentModel

/// Decides what a token endpoint's refusal means. The first source that knows the refusal decides:
/// 1. the error codes that the person configured for this provider;
/// 2. the status, if it concerns the server and not the grant (429, 408, 425, 5xx, 3xx);
/// 3. the table of the provider's preset;
/// 4. the standard table.
///
/// A refusal that no source knows is `unexplained`, or `transient` if it has a `Retry-After`.
public enum FailureClassifier {
  /// The pause after throttling without a `Retry-After` (RFC 6585 §4).
  public static let throttledPause = Milliseconds.seconds(60)
  /// Upper bound for a `Retry-After`.
  public static let longestPause = Milliseconds.seconds(3600)

  /// The failure that `refusal` means.
  ///
  /// - Parameters:
  ///   - configured: the provider's configured `errorCodes`.
  ///   - table: the table of the provider's preset.
  ///   - isBound: the request had a proof of possession. A refusal of the proof then passes: its time or its nonce was
  ///     wrong, and the response told the right ones (RFC 9449 §4.3 and §8).
  public static func classify(
    _ refusal: TokenEndpointRefusal, codes configured: [String: FailureClass] = [:], table: FailureTable? = nil,
    isBound: Bool = false
  ) -> ExchangeFailure {
    let said = refusal.error ?? word(of: refusal.status)
    for code in refusal.codes + [refusal.suberror, refusal.error].compactMap({ $0 }) {
      if let known = configured[code] { return failure(FailureTable.Meaning(known), refusal, said: said) }
    }
    if isBound, let error = refusal.error, error == NonceRefusal.error || error == "invalid_dpop_proof" {
      return failure(.transient, refusal, said: error)
    }
    let standard = FailureTable.standard.row(for: refusal)
    if let standard, case .status = standard.sign {
      return failure(standard.meaning, refusal, said: word(of: refusal.status))
    }
    guard let row = table?.row(for: refusal) ?? standard else {
      return refusal.retryAfter == nil
        ? .unexplained(status: refusal.status, isPage: refusal.isPage)
        : failure(.transient, refusal, said: word(of: refusal.status))
    }
    return failure(row.meaning, refusal, said: row.standardError ?? said, because: row.reason)
  }

  /// The word for a refusal by status alone.
  static func word(of status: Int) -> String { "status\(status)" }

  /// A 2xx response that is no answer of the protocol, as portals and proxies send a page.
  public static let notAnOAuthAnswer = "notAnOAuthAnswer"

  /// A portal answers with a page, with a redirect to one, or with the status that says so (RFC 6585 §6).
  public static func mayBeOfAPortal(_ word: String) -> Bool {
    word == notAnOAuthAnswer || word == Self.word(of: 511) || (300...399).contains { word == Self.word(of: $0) }
  }

  private static func failure(
    _ meaning: FailureTable.Meaning, _ refusal: TokenEndpointRefusal, said: String, because reason: String? = nil
  ) -> ExchangeFailure {
    let pause = refusal.retryAfter.map { min($0, longestPause) }
    switch meaning {
    case .throttled: return .transient("throttled", retryAfter: pause ?? throttledPause)
    case .transient: return .transient(said, retryAfter: pause ?? (refusal.status == 429 ? throttledPause : nil))
    case .reauthenticate: return .reauthenticate(reason: reason ?? "refused")
    case .locked: return .locked
    case .interaction: return .interaction(claims: refusal.claims)
    case .misconfigured: return .misconfigured(said)
    }
  }
}

extension FailureTable.Meaning {
  /// The meaning that the person configured in `errorCodes`.
  init(_ configured: FailureClass) {
    switch configured {
    case .transient: self = .transient
    case .reauthenticate: self = .reauthenticate
    case .locked: self = .locked
    case .interaction: self = .interaction
    case .misconfigured: self = .misconfigured
    }
  }
}
