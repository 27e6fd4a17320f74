import ArgumentParser
import CommandSupport
import FileRules
import Glibc

/// `lanyard man`
struct Man: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "man", abstract: "Show the manual page of lanyard or of a command, or print its source.",
    discussion: """
      On a terminal the page is shown by `man`. Elsewhere its source is printed. --directory writes the pages of all \
      commands and of the agent into a directory, as `make install` does.

      EXAMPLES:
        lanyard man
        lanyard man provider add
        lanyard man --directory ~/.local/share/man/man1
      """)

  @Argument(help: "The command.")
  var command: [String] = []

  @Option(help: ArgumentHelp("Write all pages into this directory.", valueName: "path"), completion: .directory)
  var directory: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if directory != nil, !command.isEmpty {
      throw ValidationError("--directory writes all pages. Leave out the command.")
    }
    if ManualPages.page(of: command, in: Lanyard.self) == nil {
      throw ValidationError("There is no command \(command.joined(separator: " ")).")
    }
  }

  func run() throws {
    if let directory { return try write(into: directory) }
    guard let page = ManualPages.page(of: command, in: Lanyard.self)?.text else { return }
    guard Terminal.showsAnswers, let program = AgentPaths.program("man") else {
      return Output.answer(laidOut: page)
    }
    guard let stream = tmpfile() else { return Output.answer(laidOut: page) }
    let file = fileno(stream)
    Output.write(page, to: file)
    lseek(file, 0, SEEK_SET)
    dup2(file, STDIN_FILENO)
    ExecReplacement.run(program, ["man", "-l", "-"])
  }

  private func write(into directory: String) throws(CommandFailure) {
    var pages = ManualPages.all(of: Lanyard.self)
    if let agent = AgentPaths.companion("lanyard-agent") {
      let help = try ChildOutput.of(agent, ["--help"]).stdout
      pages.append(ManualPages.agent(help: help.text(0..<help.count)))
    }
    let error = makeDirectories(directory)
    guard error == 0 else {
      throw CommandFailure(.other, name: "output", "\(directory) can't be made: \(SystemError.message(error)).")
    }
    for page in pages {
      let path = "\(directory)/\(page.name).1"
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o644)
      guard file >= 0 else {
        throw CommandFailure(.other, name: "output", "\(path) can't be written: \(SystemError.message(errno)).")
      }
      defer { close(file) }
      var text = page.text
      guard text.withUTF8({ Output.write(UnsafeRawBufferPointer($0), to: file) }) else {
        throw CommandFailure(.other, name: "output", "\(path) can't be written: \(SystemError.message(errno)).")
      }
    }
    Output.note("\(pages.count) pages are in \(directory).")
  }
}
