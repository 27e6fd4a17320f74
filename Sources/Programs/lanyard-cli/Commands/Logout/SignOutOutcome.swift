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
  private let revocation: String

  init(_ result: JSONNode, of account: AccountInfo?) {
    self.account = account
    data = result["data"]?.string ?? ""
    revocation = result["revocation"]?.string ?? ""
    endSessionURL = result["endSessionUrl"]?.string
    json = result.text
  }

  var provider: String { account?.provider ?? "the provider" }

  /// Prints the outcome.
  func show() {
    guard let account else { return }
    Output.answer(Text.shown("Signed out: \(account.label) (\(account.person))."))
    for line in lines(data: account) + revocationLines { Output.answer("  \(Text.shown(line))") }
    if account.isActive { Output.answer("  No account is active now: `lanyard switch` chooses one.") }
  }

  /// The consequences for the data. `account.list` names an erased account until it is forgotten.
  private func lines(data account: AccountInfo) -> [String] {
    let trace = "Its name stays in `lanyard list` until `lanyard forget \(account.label)`."
    return switch data {
    case "sealed": ["Its data is sealed until \(account.person) signs in again."]
    case "erased": ["Its data is erased. \(trace)"]
    case "erasurePending":
      [
        "Its keys are destroyed, so its data can't be read any more.",
        "Another program is reading the store. When that ends, the agent erases the",
        "last traces, at the latest at its next start.", trace,
      ]
    case "": []
    default: [data]
    }
  }

  private var revocationLines: [String] {
    switch revocation {
    case "confirmed": ["The provider confirmed that its tokens are revoked."]
    case "queued":
      ["The revocation is queued until the provider can be reached", "(`lanyard revocations` shows it)."]
    case "unsupported": ["This provider can't revoke tokens. They are valid until they expire."]
    case "notNeeded": ["There was no token to revoke."]
    case "": []
    default: [revocation]
    }
  }
}
