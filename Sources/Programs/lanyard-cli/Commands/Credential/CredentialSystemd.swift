import ArgumentParser
import CommandSupport
import Glibc

/// `lanyard credential systemd`: the server of `LoadCredential=ID:PATH` (systemd.exec(5)), started for each connection by
/// `lanyard-credential.socket`.
struct CredentialSystemd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "systemd",
    abstract: "Give a unit of the user's systemd its token (LoadCredential).",
    discussion: """
      systemd names the unit, and `lanyard account set ACCOUNT --unit UNIT` says which account's access token it gets. \
      No other unit gets one. The token is that of the unit's start: a unit that runs longer asks `lanyard token`.

      EXAMPLES:
        systemctl --user enable --now lanyard-credential.socket
        lanyard account set work --unit backup.service
        # In backup.service: LoadCredential=token:%t/lanyard/credential.sock
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    guard let peer = SystemdPeer(of: STDIN_FILENO) else {
      throw CommandFailure.usage("systemd starts this command for a unit's LoadCredential. Nothing was printed.")
    }
    guard let account = try AccountSettings().units[peer.unit] else {
      throw CommandFailure(
        .other, name: "unitUnknown", "No account is chosen for the unit \(Text.shown(peer.unit)), so it gets no token.",
        hints: ["Choose one: `lanyard account set ACCOUNT --unit \(ErrorMessages.shellWord(peer.unit))`."])
    }
    var agent = try common.connect()
    try ResourceCredential(account: account).token(via: &agent) { (token) throws(CommandFailure) in
      token.withBytes { Output.answer(bytes: $0) }
      try Output.checkAnswer()
    }
  }
}
