package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentStore
internal import Secrets

/// A sign-in in progress: it holds no account's lock, and ends by itself.
package struct SignInJob: Sendable {
  package enum Status: Sendable {
    case pending
    case completed(AccountID)
    case failed(AgentFailure)
  }

  /// The way on which the provider's answer comes back.
  enum Way: Sendable {
    /// The browser brings it to a listener of `RedirectListeners`, or a person brings it by hand.
    case browser(AuthorizationRequest)
    /// A person brings the answer; the agent opens no listener.
    case paste(AuthorizationRequest)
    /// The agent asks for it; nil while it does.
    case device(DeviceAuthorization, DevicePolling, asksAt: BootInstant?)
    /// The sign-in has ended: the secrets that prove its answer are wiped.
    case ended
  }

  let id: String
  let provider: Provider
  let wishes: Wishes
  let scopes: [String]
  /// The key that its tokens will be bound to; nil for bearer tokens, and once the sign-in has ended. Nothing of it is
  /// stored before the account is.
  var deviceKey: DeviceKey?
  /// `Caller.signInQuotas` of the caller that began it.
  let quotas: Set<String>
  let expiresAt: BootInstant
  var way: Way
  var status = Status.pending
  /// An answer was taken and is being redeemed; a second one is not.
  var isAnswered = false
  /// The number of malformed answers that a person may still bring. A typing error or two are normal; guessing gets
  /// nowhere.
  var answersLeft = Self.answersAtMost
  /// Requests that came to its redirect URI and were refused; at most `refusalsAtMost` are counted.
  var refusals = Refusals()

  package struct Refusals: Sendable {
    package var count = 0
    package var last: RedirectRefusal?
  }

  static let answersAtMost = 10
  static let refusalsAtMost = 100

  var isPending: Bool { if case .pending = status { true } else { false } }

  /// When there is something to do for it: a question, its end, or, once it has ended, forgetting it.
  func due(_ memory: Milliseconds) -> BootInstant {
    guard isPending else { return expiresAt + memory }
    if case .device(_, _, let asksAt?) = way { return min(asksAt, expiresAt) }
    return expiresAt
  }

  /// Nil for a device's, and when it has ended.
  var request: AuthorizationRequest? {
    switch way {
    case .browser(let request), .paste(let request): request
    case .device, .ended: nil
    }
  }

  /// The person's choices for the sign-in.
  package struct Wishes: Sendable {
    /// The account that is signed in again: the sign-in fails for any other identity.
    package var account: AccountID?
    var alias: Alias?
    package var scopes: [String]?
    var prompt: String?
    package var loginHint: String?
    /// Rights in detail; nil asks for none.
    package var details: AuthorizationDetails?
    package var authentication: RequestedAuthentication
    /// It asks for what `LastDemands` has of the account.
    package var answersDemand = false

    package init(
      account: AccountID? = nil, alias: Alias? = nil, scopes: [String]? = nil, prompt: String? = nil,
      loginHint: String? = nil, details: AuthorizationDetails? = nil,
      authentication: RequestedAuthentication = RequestedAuthentication()
    ) {
      self.account = account
      self.alias = alias
      self.scopes = scopes
      self.prompt = prompt
      self.loginHint = loginHint
      self.details = details
      self.authentication = authentication
    }
  }
}
