/// What the answers of a provider show of its refresh tokens (docs/tokens.md, The rule). It is told to the person and
/// changes no rule: only a configuration or a preset says what happens to a refresh token whose answer was lost.
public enum LearnedReuse: String, Hashable, Sendable {
  /// An answer brought the same refresh token back, or none: refresh tokens are not rotated.
  case none
  /// An answer brought another one. Nothing is known of what happens to a reused one.
  case rotates

  /// What is known after another answer. A provider that rotated once is never taken for one that does not: it may
  /// rotate only now and then.
  public static func after(_ before: LearnedReuse?, broughtAnother: Bool) -> LearnedReuse {
    broughtAnother || before == .rotates ? .rotates : .none
  }
}
