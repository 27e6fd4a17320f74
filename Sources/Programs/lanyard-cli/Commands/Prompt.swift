import ArgumentParser
import CommandSupport

/// `lanyard prompt`
///
/// The program `lanyard` runs this command itself if it understands all arguments (`PromptRequest`). This type prints the
/// help and reports mistakes.
struct Prompt: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the account that is used here, for the prompt of a shell.",
    discussion: """
      Prints its name and at most one sign: ! if it needs you, ~ if it is offline, x if it is signed out or disabled, ? \
      if the .lanyard file here is not trusted or names no account, or the vault is locked. It prints nothing without an \
      agent, or where no account is chosen, and never starts an agent. A shell that reads % in its prompt, as zsh \
      does, needs it doubled.

      EXAMPLES:
        PS1='$(lanyard prompt) \\$ '                    # bash
        setopt prompt_subst                             # zsh
        RPROMPT='${$(lanyard prompt)//\\%/%%}'
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var request = PromptRequest()
    request.account = account
    request.option = common.account
    request.json = common.json
    request.run()
  }
}
