import Foundation
import PracticeProvider

/// Last steps: sign out, end the agent.
extension Story {
  func signOut() throws {
    narrator.heading("Signing out")
    narrator.say(
      "Hard: the agent destroys the keys of the account's data, erases whose account it is, and asks the provider to "
        + "revoke its tokens (RFC 7009).")
    let before = stage.provider.activeRefreshTokens(user: "bob").count
    try run("lanyard", "logout", "home", "--hard")
    let after = stage.provider.activeRefreshTokens(user: "bob").count
    try check(before > 0 && after == 0, "bob still has \(after) valid refresh tokens, of \(before)")
    try run("lanyard", "token", "home", status: 1)
    narrator.checked("The provider has revoked all refresh tokens of bob.")

    narrator.next("Soft: as hard, but the account's data stays sealed until the same person signs in again.")
    try run("lanyard", "logout", "work", "--soft")
    let left = stage.provider.activeRefreshTokens().count
    try check(left == 0, "\(left) refresh tokens are still valid")
    try run("lanyard", "list", saying: "signed out")
  }

  func end() throws {
    narrator.heading("The end")
    guard let pid = stage.agentPid else { throw NotAsTold("the agent ended too early") }
    try run("lanyard", "rpc", "agent.shutdown")
    let patience = ContinuousClock.now + .seconds(10)
    while kill(pid, 0) == 0 || errno == EPERM {
      // The agent is a child of the demo and stays a zombie until `waitpid`.
      var status: Int32 = 0
      if waitpid(pid, &status, WNOHANG) == pid {
        try check(status == 0, "the agent did not end with 0")
        break
      }
      try check(ContinuousClock.now < patience, "the agent did not end in time")
      usleep(5_000)
    }
    narrator.checked("The agent has ended. The demo removes \(stage.directory).")
  }
}
