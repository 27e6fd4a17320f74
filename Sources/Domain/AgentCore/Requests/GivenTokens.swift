public import AgentModel

/// The tokens that were given for one request each (docs/callers.md, One request at a time). The server may refuse one and
/// have performed nothing: the program then asks for another one, or for a proof with the server's nonce, and it is the same
/// request still, once for each token that was given. In memory only.
public struct GivenTokens: Sendable {
  /// A repeat of one that was given before these takes another use, and asks the person again.
  package static let most = 1024
  /// How long a server takes to refuse a token.
  static let longestSending = Milliseconds.seconds(60)

  /// What makes two requests the same.
  public struct Request: Hashable, Sendable {
    /// Nil for the person's own programs.
    var grant: String?
    var account: AccountID
    var method: String
    /// In normal form.
    var url: String

    public init(grant: String?, account: AccountID, method: String, url: String) {
      self.grant = grant
      self.account = account
      self.method = method
      self.url = url
    }
  }

  /// What a request has, so that its repeat needs none of it again.
  public struct Rights: Hashable, Sendable {
    /// The capabilities for which a person approved it.
    public var approved: Set<String>
    /// The capabilities of whose budgets it took a use.
    public var used: Set<String>

    public init(approved: Set<String> = [], used: Set<String> = []) {
      self.approved = approved
      self.used = used
    }
  }

  /// What was given, and until when its repeat is the same request.
  public struct Given: Sendable {
    var request: Request
    var fingerprint: String
    /// It goes with a proof, which may lack the server's nonce.
    var isBound: Bool
    public internal(set) var rights: Rights
    var until: BootInstant
  }

  /// In the order in which they were given.
  private var given: [Given] = []

  public init() {}

  /// The token with this fingerprint was given for the request.
  public mutating func gave(
    _ fingerprint: String, isBound: Bool, for request: Request, _ rights: Rights, at now: BootInstant
  ) {
    guard rights != Rights() else { return }
    given.removeAll { $0.until <= now }
    if given.count >= Self.most { given.removeFirst() }
    given.append(
      Given(
        request: request, fingerprint: fingerprint, isBound: isBound, rights: rights, until: now + Self.longestSending))
  }

  /// No token could be given for the repeat: the next try is the repeat.
  public mutating func failed(_ retaken: Given) { given.append(retaken) }

  /// What the request has still: the server refused the token that was given for it, or wants its nonce in the proof. Nil
  /// for a request that is a new one.
  public mutating func retakes(
    _ request: Request, rejected: String?, wantsNonce: Bool, at now: BootInstant
  ) -> Given? {
    guard rejected != nil || wantsNonce else { return nil }
    let place = given.lastIndex { given in
      given.request == request && given.until > now
        && rejected.map { $0 == given.fingerprint } ?? (wantsNonce && given.isBound)
    }
    return place.map { given.remove(at: $0) }
  }
}
