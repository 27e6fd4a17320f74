public import AgentModel

/// What a denied decision lacks that the provider can tell now: a confirmation of the account, and the rights that the
/// capability hangs on.
public struct ProviderQuestion: Hashable, Sendable {
  /// The capability asks for roles, so the answer has to tell them.
  public var roles: Bool
  public var entitlements: Bool
  /// The snapshot as a whole is too old; only an exchange tells its scopes.
  public var wholeSnapshot: Bool
  /// The clock is suspect; only an exchange tells the provider's time.
  public var time: Bool

  public init(
    roles: Bool = false, entitlements: Bool = false, wholeSnapshot: Bool = false, time: Bool = false
  ) {
    self.roles = roles
    self.entitlements = entitlements
    self.wholeSnapshot = wholeSnapshot
    self.time = time
  }

  /// One question for the denials of several capabilities; nil if none of them lacks an answer.
  public static func joined(_ questions: [ProviderQuestion]) -> ProviderQuestion? {
    guard var all = questions.first else { return nil }
    for question in questions.dropFirst() {
      all.roles = all.roles || question.roles
      all.entitlements = all.entitlements || question.entitlements
      all.wholeSnapshot = all.wholeSnapshot || question.wholeSnapshot
      all.time = all.time || question.time
    }
    return all
  }
}

/// How the provider confirms an account (docs/offline.md, Confirmations). All but the exchange rotate no token.
public enum ConfirmationStep: Hashable, Sendable { case userInfo, introspection, entitlements, exchange }

/// The ways in which one provider can confirm one account now.
public struct ConfirmationMeans: Hashable, Sendable {
  public var rule: RightsRule
  public var hasIntrospection: Bool
  /// An access token that has not expired.
  public var hasToken: Bool
  public var hasRefreshToken: Bool
  /// Steps that the provider refused to this client, or that did not tell the rights.
  public var unhelpful: Set<ConfirmationStep>

  public init(
    rule: RightsRule, hasIntrospection: Bool, hasToken: Bool, hasRefreshToken: Bool,
    unhelpful: Set<ConfirmationStep> = []
  ) {
    self.rule = rule
    self.hasIntrospection = hasIntrospection
    self.hasToken = hasToken
    self.hasRefreshToken = hasRefreshToken
    self.unhelpful = unhelpful
  }

  /// The steps that together answer the question; empty if nothing can. An exchange is chosen only where no other step
  /// confirms the account and tells anew what the capability hangs on.
  public func steps(for question: ProviderQuestion) -> [ConfirmationStep] {
    let exchange: [ConfirmationStep] = hasRefreshToken ? [.exchange] : []
    guard hasToken, !((question.wholeSnapshot || question.time) && hasRefreshToken) else { return exchange }
    var steps: [ConfirmationStep] = []
    if question.roles, rule.rolesClaim != nil {
      guard mayAsk(.userInfo) else { return exchange }
      steps.append(.userInfo)
    }
    if question.entitlements || (question.roles && rule.rolesClaim == nil && rule.hasEntitlementsURL) {
      guard mayAsk(.entitlements) else { return exchange }
      steps.append(.entitlements)
    }
    if !steps.isEmpty { return steps }
    return [ConfirmationStep.userInfo, .introspection, .entitlements].first(where: mayAsk).map { [$0] } ?? exchange
  }

  private func mayAsk(_ step: ConfirmationStep) -> Bool {
    guard !unhelpful.contains(step) else { return false }
    return switch step {
    case .userInfo: rule.hasUserInfo
    case .introspection: hasIntrospection
    case .entitlements: rule.hasEntitlementsURL
    case .exchange: hasRefreshToken
    }
  }
}

/// Limits how often denials make the agent ask the provider for one account.
public struct ConfirmationPace: Hashable, Sendable {
  /// Between two questions, also where a policy accepts no older answer: programs may check in a loop.
  public static let shortest = Milliseconds.seconds(10)
  /// A provider that stays silent is asked this often, until something tells that it may be back.
  public static let longest = Milliseconds.seconds(300)

  private var notBefore: BootInstant?
  private var failures = 0

  public init() {}

  /// True if the provider may be asked now, which then counts.
  public mutating func begin(at now: BootInstant) -> Bool {
    if let notBefore, now < notBefore { return false }
    notBefore = now + Self.shortest
    return true
  }

  /// `retryAfter` is what the provider asked for.
  public mutating func failed(at now: BootInstant, retryAfter: Milliseconds? = nil) {
    let doubled = Milliseconds(Self.shortest.count << min(failures, 5))
    failures += 1
    notBefore = now + max(min(doubled, Self.longest), min(retryAfter ?? .zero, FailureClassifier.longestPause))
  }

  public mutating func succeeded() { failures = 0 }

  /// The provider may be reachable again, or the person signed in: the next denial asks at once.
  public mutating func reset() { self = ConfirmationPace() }
}
