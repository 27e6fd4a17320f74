import CommandSupport
import JSONRPC

/// The answer to `account.signOut`.
struct SignOutOutcome {
  let endSessionURL: String?
  /// The agent's JSON, for `--json`.
  let json: String
  /// The account before the sign-out; nil with `--json`.
  private let account: AccountInfo?
  private let data: String
  /// The configuration file that demands that every sign-out erases.
  private let demandedBy: String?
  private let revocation: String
  /// When the agent sends the revocation again by itself.
  private let nextAttempt: Moment?
  /// The time of the provider, on which that stands.
  var now = Moment.now

  init(_ result: JSONNode, of account: AccountInfo?) {
    self.account = account
    data = result["data"]?.string ?? ""
    demandedBy = result["demandedBy"]?.string
    revocation = result["revocation"]?.string ?? ""
    nextAttempt = result["nextAttemptAt"]?.string.flatMap { Moment($0) }
    endSessionURL = result["endSessionUrl"]?.string
    json = result.text
  }

  /// It tells a person a moment.
  var tellsTime: Bool { account != nil && nextAttempt != nil }

  var provider: String { account?.provider ?? "the provider" }

  /// Prints the outcome.
  func show() {
    guard let account else { return }
    Output.done(Text.shown("Signed out: \(account.label) (\(account.person))."))
    for line in demandLines + lines(data: account) + revocationLines { Output.done("  \(Text.shown(line))") }
  }

  /// The account was the active one, so that none is now.
  var leavesNoneActive: Bool { account?.isActive == true }

  private var demandLines: [String] {
    demandedBy.map { ["\($0) demands that every sign-out erases the data, whatever option is given."] } ?? []
  }

  /// What happened to the data. `account.list` shows the id of an erased account until it is forgotten.
  private func lines(data account: AccountInfo) -> [String] {
    let trace = [
      "Only its id stays, so that the same person gets this account again, until",
      "`lanyard forget \(account.id)`.",
    ]
    return switch data {
    case "sealed" where account.isOfUnknownPerson: ["Its data is sealed until the same key is added again."]
    case "sealed": ["Its data is sealed until \(account.person) signs in again."]
    case "erased": ["Its data is erased, and whose account it was."] + trace
    case "erasurePending":
      [
        "Its keys are destroyed, so its data can't be read any more.",
        "Another program is reading the store. When that ends, the agent erases the",
        "last traces, at the latest at its next start.",
      ] + trace
    case "": []
    default: [data]
    }
  }

  private var revocationLines: [String] {
    switch revocation {
    case "confirmed": ["The provider confirmed that its tokens are revoked."]
    case "queued":
      [
        "The revocation is queued. The agent sends it \(nextAttempt?.relative(to: now) ?? "as soon as it can"),",
        "or when the network changes. `lanyard revocations send` sends it now.",
      ]
    case "refused":
      [
        "The provider was reached and refuses to revoke tokens for this client:",
        "they may stay valid until they expire. The agent asks again \(nextAttempt?.relative(to: now) ?? "later").",
        endSessionURL == nil
          ? "To end them now, sign out at the provider's own page."
          : "To end them now, end the session at the provider, too.",
        "If the provider gave you a client secret,",
        "`lanyard provider update \(provider) --client-secret-file -` takes it.",
      ]
    case "abandoned":
      [
        "The provider did not take the revocation. The agent does not send it again,",
        "since by the lifetime that the provider told the token has expired.",
      ]
    case "unsupported":
      [
        "This provider offers no revocation. What it issued is valid until it expires,",
        "or until you end it on the provider's page.",
      ]
    case "notNeeded": ["There was no token to revoke, or another account uses it."]
    case "": []
    default: [revocation]
    }
  }
}
