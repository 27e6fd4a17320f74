import ArgumentParser
import CommandSupport

/// `lanyard completion`
struct Completion: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a completion script for a shell.",
    discussion: """
      EXAMPLES:
        lanyard completion bash > ~/.local/share/bash-completion/completions/lanyard
        lanyard completion zsh > ~/.zfunc/_lanyard
        lanyard completion fish > ~/.config/fish/completions/lanyard.fish
      """)

  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    var parsed: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  @Argument(help: "The shell.")
  var shell: Shell

  @OptionGroup var common: CommonOptions

  func run() { Output.answer(Lanyard.completionScript(for: shell.parsed)) }
}
