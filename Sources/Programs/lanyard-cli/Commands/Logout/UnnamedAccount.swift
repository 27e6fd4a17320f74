import CommandSupport
import JSONRPC

/// The account of a command that erases or signs out, if the person did not name it: it is shown, and the person is
/// asked. A program names the account or passes `--yes`.
struct UnnamedAccount {
  /// "Sign out of", "Forget".
  let act: String
  /// `lanyard logout`, for the hint.
  let command: String
  let yes: Bool
  let json: Bool

  /// - Throws: a usage failure where no person can be asked, or if the person declines.
  func confirm(_ account: AccountInfo, because reason: AccountSelection.Reason) throws(CommandFailure) {
    guard !yes else { return }
    let described = account.person == account.label ? account.label : "\(account.label) (\(account.person))"
    guard Terminal.canAsk, !json else {
      throw .usage(
        "No account was named. This would \(act.lowercased()) \(described), because \(reason.sentence). "
          + "Nothing was changed.",
        hints: ["Name it: `\(command) \(account.label)`. Or add --yes to use it without asking."])
    }
    guard Terminal.confirm(Text.shown("\(act) \(described)? No account was named, and \(reason.sentence).")) else {
      throw CommandFailure(.other, name: "declined", "Nothing was changed.")
    }
  }
}
