import Foundation
import PracticeProvider

/// Signing out, and the end.
extension Story {
  func signOut() throws {
    narrator.heading("Signing out")
    narrator.say(
      "Hard: the keys to its data are destroyed, and the provider is told to revoke what it gave (RFC 7009).")
    let before = stage.provider.activeRefreshTokens(user: "bob").count
    try run("lanyard", "logout", "home", "--hard")
    let after = stage.provider.activeRefreshTokens(user: "bob").count
    try check(before > 0 && after == 0, "bob has \(after) refresh tokens that live, of \(before)")
    try run("lanyard", "token", "home", status: 4)
    narrator.checked("At the provider, none of bob’s refresh tokens lives.")

    narrator.next("Soft: the same, but the account's data stays sealed until the same person signs in again.")
    try run("lanyard", "logout", "work", "--soft")
    let left = stage.provider.activeRefreshTokens().count
    try check(left == 0, "\(left) refresh tokens still live")
    try run("lanyard", "list", saying: "signedOut")
  }

  func end() throws {
    narrator.heading("The end")
    guard let pid = stage.agentPid else { throw NotAsTold("the agent is gone before its time") }
    try run("lanyard", "rpc", "agent.shutdown")
    let patience = ContinuousClock.now + .seconds(10)
    while kill(pid, 0) == 0 || errno == EPERM {
      // Adopted by the demo, it stays a zombie until it is asked for.
      var status: Int32 = 0
      if waitpid(pid, &status, WNOHANG) == pid {
        try check(status == 0, "the agent did not end with 0")
        break
      }
      try check(ContinuousClock.now < patience, "the agent does not end")
      usleep(5_000)
    }
    narrator.checked("The agent has ended. \(stage.directory) goes with the demo.")
  }
}
