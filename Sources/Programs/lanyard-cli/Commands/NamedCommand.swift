import ArgumentParser
import CommandSupport
import UsageWords

/// The command that the words of a command line name, and the first word at the place of a command that is none.
struct NamedCommand {
  /// Its words: `lanyard`, or `lanyard provider`.
  private(set) var path = "lanyard"
  private var unknown: String?
  private var known: [String] = []
  private let words: [String]
  /// A word stands in the place of a command and is none.
  var isUnknown: Bool { unknown != nil }
  private let root: any ParsableCommand.Type
  private var command: any ParsableCommand.Type

  init(in words: [String], of root: any ParsableCommand.Type) {
    self.words = words
    (self.root, command) = (root, root)
    for word in words {
      let subcommands: [any ParsableCommand.Type] = command.configuration.subcommands
      guard !subcommands.isEmpty, !word.hasPrefix("-"), word != "help" else { return }
      guard let next = subcommands.first(where: { Self.names($0).contains(word) }) else {
        (unknown, known) = (word, subcommands.flatMap(Self.names))
        return
      }
      command = next
      path += " " + word
    }
  }

  private static func names(_ command: any ParsableCommand.Type) -> [String] {
    [command._commandName] + command.configuration.aliases
  }

  /// What `message` says is wrong with the command line, with the command that shows how to use this one.
  func mistake(_ message: String) -> CommandFailure {
    let help = (["lanyard", "help"] + path.split(separator: " ").dropFirst().map(String.init)).joined(separator: " ")
    guard let unknown else {
      // A mistake that follows from an option of another name is told as that.
      return .usage(unknownOption ?? Self.sentence(message), hints: [Mistake.hint(help)])
    }
    let near = NearMiss.all(of: unknown, among: known).first
    return .usage(
      Mistake.unknownCommand(unknown, meant: near.map { "\(path) \($0)" }), hints: ["`\(help)` lists the commands."])
  }

  /// Commands whose words may be those of another program.
  private static let passing: Set<String> = ["demo", "exec", "export", "mcp", "proxy"]

  /// The first word that looks like an option of this command and is none, with those that were probably meant.
  private var unknownOption: String? {
    guard !Self.passing.contains(command._commandName) else { return nil }
    let command = command.configuration.defaultSubcommand ?? command
    let options = HelpText.options(of: command, in: root)
    let typed = words.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    guard let wrong = typed.first(where: { !options.contains($0) }) else { return nil }
    return Mistake.unknownOption(wrong, meant: NearMiss.all(of: wrong, among: options.filter { $0.hasPrefix("--") }))
  }

  /// ArgumentParser lists values on lines of their own.
  private static func sentence(_ message: String) -> String {
    let lines = message.split(separator: "\n").map { line in
      let text = line.drop { $0 == " " }
      return text.hasPrefix("- ") ? String(text.dropFirst(2)) : String(text)
    }
    guard let first = lines.first else { return "The command line is not complete." }
    let rest = lines.dropFirst().joined(separator: ", ")
    return Mistake.reworded(rest.isEmpty ? first : "\(first) \(rest)")
  }
}
