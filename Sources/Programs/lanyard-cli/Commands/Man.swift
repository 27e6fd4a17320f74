import ArgumentParser
import CommandSupport
import Glibc

/// `lanyard man`
struct Man: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "man", abstract: "Show the manual page of lanyard, or print its source.",
    discussion: """
      On a terminal the page is shown by `man`. Elsewhere its source is printed, for a directory of manual pages:

        lanyard man > ~/.local/share/man/man1/lanyard.1
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    let page = ManualPage.text
    guard Terminal.showsAnswers, let program = AgentPaths.program("man") else {
      return Output.write(page, to: STDOUT_FILENO)
    }
    guard let stream = tmpfile() else { return Output.write(page, to: STDOUT_FILENO) }
    let file = fileno(stream)
    Output.write(page, to: file)
    lseek(file, 0, SEEK_SET)
    dup2(file, STDIN_FILENO)
    ExecReplacement.run(program, ["man", "-l", "-"])
  }
}

/// The manual page in roff (man(7)): the help of every command.
enum ManualPage {
  static var text: String {
    var lines = [
      #".TH LANYARD 1 "" "lanyard \#(Version.text)" "User commands""#,
      ".SH NAME", "lanyard \\- sign in once; programs ask the agent for tokens",
      ".SH SYNOPSIS", ".B lanyard", ".I command", "[options]",
      ".SH DESCRIPTION",
    ]
    lines += verbatim(Lanyard.helpMessage(columns: columns))
    lines.append(".SH COMMANDS")
    lines += commands(of: Lanyard.self, path: "lanyard")
    lines += [".SH FILES", ".TP", ".I .lanyard", "The account of a directory and of those below, if it is trusted."]
    lines += [".SH SEE ALSO", "lanyard-agent(1)"]
    return lines.joined(separator: "\n") + "\n"
  }

  private static let columns = 76

  private static func commands(of parent: any ParsableCommand.Type, path: String) -> [String] {
    parent.configuration.subcommands.flatMap { command -> [String] in
      let path = "\(path) \(command._commandName)"
      let help = Lanyard.helpMessage(for: command, columns: columns)
      return [".SS \(path)"] + verbatim(help) + commands(of: command, path: path)
    }
  }

  /// Text as it is. A leading dot or quote would be a request, and a backslash begins an escape.
  private static func verbatim(_ text: String) -> [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let escaped = line.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\e")
        .split(separator: "-", omittingEmptySubsequences: false).joined(separator: "\\-")
      return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }
    return [".nf"] + lines + [".fi"]
  }
}
