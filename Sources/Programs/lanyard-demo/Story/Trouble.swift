import Foundation
import PracticeProvider

/// The agent and the provider fail; the accounts stay.
extension Story {
  func crash() throws {
    narrator.heading("kill -9 in the middle of a refresh")
    narrator.say(
      """
      The worst moment: the provider has replaced the refresh token, and the answer is still on its way. (The demo \
      delays it by 5 s.) The agent loses its memory. But it has recorded the exchange on the disk before sending it.
      """)
    let before = refreshes
    stage.provider.enqueueFault("/token", .delay(milliseconds: 5_000))
    narrator.command("lanyard token home --force &")
    let asking = try stage.start(["lanyard", "token", "home", "--force"])
    while refreshes == before { usleep(2_000) }
    let killed = try stage.killAgent()
    narrator.command("kill -9 \(killed)")
    narrator.next(
      """
      The command that waits loses its agent, starts another and asks again. The new agent finds an exchange that \
      began and never ended. It knows that this provider accepts a used token again within 30 s, so it asks once more, \
      and only once. (At a stricter provider it would ask once more only when the old token has expired, and you would \
      sign in again if the provider had replaced the refresh token.)
      """)
    let ended = asking.end()
    narrator.output(ended.text)
    try check(ended.status == 0, "a command whose agent died ended with \(ended.status), not with 0")
    let home = try token("home")
    let work = try token("work")
    try check(home != work, "both accounts have the same token")
    try check(stage.agentPid != nil && stage.agentPid != killed, "no new agent runs")
    try check(refusals == 0, "the provider refused \(refusals) refreshes")
    let list = try run("lanyard", "list").output
    try check(list.matches(of: #/\bactive\b/#).count >= 2, "not both accounts are active")
    narrator.checked("Nothing was lost: both accounts answer without a new sign-in, and the provider never refused.")
  }

  private var refusals: Int { stage.provider.requests(to: "/token").count { ($0.status ?? 0) >= 400 } }

  func outage() throws {
    narrator.heading("The provider is down")
    narrator.say("It answers every request with 503. A token that is still valid needs no provider.")
    stage.provider.enqueueFault("/token", .status(503, "", headers: [("Retry-After", "1")], count: nil))
    _ = try token("work")
    try run("lanyard", "token", "work", "--force", status: 5)
    stage.provider.clearFaults()
    narrator.checked("Exit code 5: a script can tell this from “sign in again”, which is 4.")
  }

  func lookAtTheDisk() throws {
    narrator.heading("What is on the disk")
    narrator.say("Everything that the agents of this demo wrote, with their logs:")
    narrator.command("ls -l ~/.local/state/lanyard")
    narrator.output(try stage.start(["ls", "-l", stage.stateDirectory]).end().text)
    let files = try FileManager.default.subpathsOfDirectory(atPath: stage.stateDirectory).sorted()
    for file in files {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(stage.stateDirectory)/\(file)")[.posixPermissions]
      try check((mode as? Int ?? 0o777) & 0o077 == 0, "\(file) is open to others")
    }
    let secrets =
      Array(tokensSeen) + stage.provider.activeRefreshTokens() + [
        "alice@acme.example", "bob@globex.example", stage.server.issuer, "Alice Archer",
      ]
    for file in files {
      let data = FileManager.default.contents(atPath: "\(stage.stateDirectory)/\(file)") ?? Data()
      for secret in secrets where data.range(of: Data(secret.utf8)) != nil {
        throw NotAsTold("\(file) holds something in clear that it must not")
      }
    }
    narrator.checked(
      """
      The demo searched these files for \(tokensSeen.count) access tokens, \
      \(stage.provider.activeRefreshTokens().count) refresh tokens, both e-mail addresses and the issuer. None \
      appears in clear.
      """)
  }
}
