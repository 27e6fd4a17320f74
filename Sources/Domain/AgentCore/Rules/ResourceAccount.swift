public import AgentModel

/// Decides which account answers for the URL of a resource (docs/desktop.md, Which account).
///
/// An account is considered only if a rule gives it this URL, or if its provider lists the URL's origin among its
/// `allowedOrigins`. So no token goes to a host that the person did not name.
///
/// An account that is named is chosen also when it is signed out: the tool is then told so, and gets no other person's token.
public struct ResourceAccount: Hashable, Sendable {
  /// What made the choice.
  public enum Basis: Hashable, Sendable {
    /// The account was named by the caller.
    case selector
    case rule(String)
    /// The name that the tool knows the person by.
    case user
    /// The caller prefers it.
    case preferred
    case directory
    case active
    /// It is the only account that fits.
    case provider
  }

  public enum Refusal: Error, Hashable, Sendable {
    /// No rule covers the URL, and no provider of an account lists its origin.
    case noneFits
    case ambiguous([AccountID])
    /// The preference, or the `.lanyard` file, names no account that the caller may see. No other one is chosen in its place.
    case unknown
    /// The `.lanyard` file would decide, and the person no longer trusts it as it is.
    case changedFile
  }

  /// A rule as the decision sees it.
  public struct Rule: Hashable, Sendable {
    public let name: String
    public let pattern: ResourcePattern
    public let account: AccountID

    public init(name: String, pattern: ResourcePattern, account: AccountID) {
      self.name = name
      self.pattern = pattern
      self.account = account
    }
  }

  /// An account that the caller may see.
  public struct Candidate: Hashable, Sendable {
    public let account: AccountID
    /// The alias, the e-mail address, the user name of a secret and the subject.
    public let names: [String]
    /// True if its provider lists the URL's origin.
    public let fitsByProvider: Bool
    public let isSignedIn: Bool

    public init(account: AccountID, names: [String], fitsByProvider: Bool, isSignedIn: Bool) {
      self.account = account
      self.names = names
      self.fitsByProvider = fitsByProvider
      self.isSignedIn = isSignedIn
    }
  }

  /// What may decide between several accounts.
  public struct Hints: Hashable, Sendable {
    /// The accounts that the caller named; nil if it named none.
    public var selected: [AccountID]?
    public var user: String?
    /// The accounts that the caller prefers; nil if it prefers none.
    public var preferred: [AccountID]?
    /// The accounts that the `.lanyard` file of the directory names; nil without a file. A preference comes in its place.
    public var directory: [AccountID]?
    /// There is a `.lanyard` file that the person trusted, and that has changed or can't be read.
    public var isFileChanged = false
    public var active: AccountID?

    public init(
      selected: [AccountID]? = nil, user: String? = nil, preferred: [AccountID]? = nil,
      directory: [AccountID]? = nil, active: AccountID? = nil
    ) {
      self.selected = selected
      self.user = user
      self.preferred = preferred
      self.directory = directory
      self.active = active
    }
  }

  public let account: AccountID
  public let basis: Basis

  private init(_ account: AccountID, _ basis: Basis) {
    self.account = account
    self.basis = basis
  }

  /// - Parameter candidates: oldest first.
  public static func choose(
    for url: HTTPURL, rules: [Rule], candidates: [Candidate], hints: Hints
  ) throws(Refusal) -> ResourceAccount {
    let known = Set(candidates.map(\.account))
    let covering = rules.filter { known.contains($0.account) && $0.pattern.covers(url) }
    if let selected = hints.selected {
      let fitting = candidates.filter { candidate in
        selected.contains(candidate.account)
          && (candidate.fitsByProvider || covering.contains { $0.account == candidate.account })
      }
      return ResourceAccount(try only(signedInFirst(fitting)).account, .selector)
    }
    let longest = covering.filter { rule in !covering.contains { $0.pattern.isLonger(than: rule.pattern) } }
    if let first = longest.first, Set(longest.map(\.account)).count == 1 {
      return ResourceAccount(first.account, .rule(first.name))
    }
    let fitting = candidates.filter { candidate in
      longest.isEmpty ? candidate.fitsByProvider : longest.contains { $0.account == candidate.account }
    }
    guard !fitting.isEmpty else { throw .noneFits }
    func found(_ candidate: Candidate, _ basis: Basis) -> ResourceAccount {
      // Of several rules one is the reason, whatever chose it.
      ResourceAccount(
        candidate.account, longest.first { $0.account == candidate.account }.map { .rule($0.name) } ?? basis)
    }
    if let user = hints.user, !user.isEmpty {
      let named = fitting.filter { $0.names.contains(user) }
      if !named.isEmpty { return found(try only(signedInFirst(named)), .user) }
    }
    guard hints.preferred != nil || !hints.isFileChanged else { throw .changedFile }
    if let preferred = hints.preferred ?? hints.directory {
      guard !preferred.isEmpty else { throw .unknown }
      let named = fitting.filter { preferred.contains($0.account) }
      if !named.isEmpty {
        return found(try only(signedInFirst(named)), hints.preferred == nil ? .directory : .preferred)
      }
    }
    // Between accounts that a rule gives the URL to, none is passed over.
    let unnamed = longest.isEmpty ? signedInFirst(fitting) : fitting
    if let active = unnamed.first(where: { $0.account == hints.active }) { return found(active, .active) }
    return ResourceAccount(try only(unnamed).account, .provider)
  }

  /// Those that are signed in; all, if none is.
  private static func signedInFirst(_ candidates: [Candidate]) -> [Candidate] {
    let signedIn = candidates.filter(\.isSignedIn)
    return signedIn.isEmpty ? candidates : signedIn
  }

  private static func only(_ candidates: [Candidate]) throws(Refusal) -> Candidate {
    guard let first = candidates.first else { throw .noneFits }
    guard candidates.count == 1 else { throw .ambiguous(candidates.map(\.account)) }
    return first
  }
}
