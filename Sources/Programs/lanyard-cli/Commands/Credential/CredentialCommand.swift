import ArgumentParser
import CommandSupport

/// `lanyard credential`
struct CredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential",
    abstract: "Answer a tool that asks for a credential in its own protocol.",
    discussion: """
      Tools call these commands; people seldom do. The URL that a tool asks for decides which account answers: that of \
      the longest rule that covers it (`lanyard rule`), else the account whose provider lists its origin. No token \
      goes to any other host. `lanyard resolve URL` shows the choice.

      EXAMPLES:
        git config --global credential.helper '!lanyard credential git'
        lanyard credential kubectl -u work      # the command of a kubeconfig's user
        lanyard credential xoauth2 --user alice@acme.example
      """,
    subcommands: [
      CredentialGit.self, CredentialDocker.self, CredentialKubectl.self, CredentialCargo.self, CredentialKeyring.self,
      CredentialAWS.self, CredentialGCP.self, CredentialBazel.self, CredentialTerraform.self, CredentialNetrc.self,
      CredentialHeaders.self,
      CredentialXOAuth2.self, CredentialPassword.self, CredentialSystemd.self,
    ])
}
