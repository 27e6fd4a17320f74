public import AgentModel

/// Decides what a refusal means. Who knows more is heard first:
/// 1. the codes that the person configured for this provider, which may overrule everything;
/// 2. the status, where it speaks of the server and not of the grant (429, 408, 425, 5xx, 3xx);
/// 3. the table of the provider's preset;
/// 4. the standard table.
/// What nobody knows is unexplained; but who says when to come again has not refused for good.
public enum FailureClassifier {
  /// RFC 6585 §4 gives 429 a `Retry-After`; without one, this long. Also for throttling by another status.
  public static let throttledPause = Milliseconds.seconds(60)
  /// A provider that asks for more is asked again after this long.
  public static let longestPause = Milliseconds.seconds(3600)

  public static func classify(
    _ refusal: TokenEndpointRefusal, codes configured: [String: FailureClass] = [:], table: FailureTable? = nil
  ) -> ExchangeFailure {
    let said = refusal.error ?? "status\(refusal.status)"
    for code in refusal.codes + [refusal.suberror, refusal.error].compactMap({ $0 }) {
      if let known = configured[code] { return failure(FailureTable.Meaning(known), refusal, said: said) }
    }
    let standard = FailureTable.standard.row(for: refusal)
    if let standard, case .status = standard.sign {
      return failure(standard.meaning, refusal, said: "status\(refusal.status)")
    }
    guard let row = table?.row(for: refusal) ?? standard else {
      return refusal.retryAfter == nil
        ? .unexplained(status: refusal.status) : failure(.transient, refusal, said: "status\(refusal.status)")
    }
    return failure(row.meaning, refusal, said: row.word ?? said)
  }

  private static func failure(
    _ meaning: FailureTable.Meaning, _ refusal: TokenEndpointRefusal, said: String
  ) -> ExchangeFailure {
    let pause = refusal.retryAfter.map { min($0, longestPause) }
    switch meaning {
    case .throttled: return .transient("throttled", retryAfter: pause ?? throttledPause)
    case .transient: return .transient(said, retryAfter: pause ?? (refusal.status == 429 ? throttledPause : nil))
    case .reauthenticate: return .reauthenticate(reason: "refused")
    case .locked: return .locked
    case .interaction: return .interaction(claims: refusal.claims)
    case .misconfigured: return .misconfigured(said)
    }
  }
}

extension FailureTable.Meaning {
  /// What the person called it in `errorCodes`.
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
