import CommandSupport
import JSONRPC

/// `lanyard logout --all`
extension Logout {
  /// Signs out of every account, also after a failure. Prints each failure in its place.
  func signOutOfAll(via agent: inout AgentConnection) throws(CommandFailure) {
    let accounts: [AccountInfo]
    do throws(CommandFailure) {
      accounts = try AccountInfo.all(via: &agent).filter { $0.state != "signedOut" }
    } catch {
      throw error.name == "agentLocked" ? error.explaining(signOutBy: "lanyard logout --all\(optionWords)") : error
    }
    guard !accounts.isEmpty else {
      if common.json { Output.answer("[]") } else { Output.note("No account is signed in.") }
      return
    }
    try confirm(accounts, via: &agent)
    var leavesNoneActive = false
    var told: [String] = []
    var failures: [CommandFailure] = []
    for account in accounts {
      do throws(CommandFailure) {
        let outcome = try signOut(account, via: &agent)
        told.append(outcome.json)
        if !common.json { outcome.show() }
        leavesNoneActive = leavesNoneActive || outcome.leavesNoneActive
        endSession(outcome, mayAsk: false)
      } catch {
        told.append(error.entry(account: account.id))
        failures.append(error)
        if !common.json { show(error, of: account) }
      }
    }
    if leavesNoneActive, !common.json { tellNoneActive(via: &agent) }
    if common.json { Output.answer(json: "[\(told.joined(separator: ","))]") }
    guard let first = failures.first else { return }
    // The exit code of the failures if they agree, else 1.
    let status = failures.allSatisfy { $0.status == first.status } ? first.status : .other
    throw CommandFailure(
      status, name: first.name,
      "\(failures.count) of \(accounts.count) accounts could not be signed out.",
      hints: ["`lanyard list` shows the accounts that are still signed in."])
  }

  private func confirm(
    _ accounts: [AccountInfo], via agent: inout AgentConnection
  ) throws(CommandFailure) {
    // Ask only a person at a terminal: a script passes --all deliberately.
    guard !yes, Terminal.canAsk, !common.json else { return }
    let count = accounts.count == 1 ? "one account" : "\(accounts.count) accounts"
    let names = accounts.map { Text.shown($0.label) }.joined(separator: ", ")
    let fate = mode == .hard || isHardDemanded(via: &agent) ? " and erase their data" : ""
    guard Terminal.confirm("Sign out of \(count) (\(names))\(fate)?") else {
      throw CommandFailure(.other, name: "declined", "No account was signed out.")
    }
  }

  private func show(_ failure: CommandFailure, of account: AccountInfo) {
    let line = "lanyard: \(account.label) (\(account.person)) was not signed out: \(failure.message)"
    Output.instruction(Text.shown(line))
    for hint in failure.hints { Output.instruction("  \(Text.shown(hint))") }
  }
}
