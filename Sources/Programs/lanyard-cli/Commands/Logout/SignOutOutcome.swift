import CommandSupport
import JSONRPC

/// What signing out did, as the agent answered it.
struct SignOutOutcome {
  let endSessionURL: String?
  /// As it came, for `--json`.
  let json: String
  /// Who it was before; nil where nobody reads it.
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

  /// Tells it to a person.
  func show() {
    guard let account else { return }
    Output.answer(Text.shown("Signed out: \(account.label) (\(account.person))."))
    for line in lines(data: account) + revocationLines { Output.answer("  \(Text.shown(line))") }
    if account.isActive { Output.answer("  No account is active now: `lanyard switch` chooses one.") }
  }

  /// What stays of it is said, too: `account.list` names an erased account until it is forgotten.
  private func lines(data account: AccountInfo) -> [String] {
    let trace = "Its name stays in `lanyard list` until `lanyard forget \(account.label)`."
    return switch data {
    case "sealed": ["Its data is sealed until \(account.person) signs in again."]
    case "erased": ["Its data is erased. \(trace)"]
    case "erasurePending":
      [
        "Its keys are destroyed: nobody can read its data any more.",
        "Another program is reading the store; as soon as it ends, the agent wipes the",
        "last traces by itself, at the latest at its next start.", trace,
      ]
    case "": []
    default: [data]
    }
  }

  private var revocationLines: [String] {
    switch revocation {
    case "confirmed": ["The provider confirmed that its tokens are revoked."]
    case "queued":
      ["The revocation is queued: it is sent when the provider can be reached", "(`lanyard revocations` shows it)."]
    case "unsupported": ["This provider can't revoke tokens: they end when they expire."]
    case "notNeeded": ["There was no token to revoke."]
    case "": []
    default: [revocation]
    }
  }
}
