import ArgumentParser
import CommandSupport

/// A word on the command line that is no command.
struct UnknownCommand {
  private let word: String
  /// The words before it: `lanyard`, or `lanyard provider`.
  private let parent: String
  private let known: [String]

  /// Nil if every word at the place of a command is one.
  static func find(in words: [String], of root: any ParsableCommand.Type) -> UnknownCommand? {
    var command = root
    var path = "lanyard"
    for word in words {
      let subcommands: [any ParsableCommand.Type] = command.configuration.subcommands
      guard !subcommands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
      guard let next = subcommands.first(where: { names($0).contains(word) }) else {
        return UnknownCommand(word: word, parent: path, known: subcommands.flatMap { names($0) })
      }
      command = next
      path += " " + word
    }
    return nil
  }

  private static func names(_ command: any ParsableCommand.Type) -> [String] {
    [command._commandName] + command.configuration.aliases
  }

  var failure: CommandFailure {
    let near = NearMiss.of(word, among: known) ?? known.first { $0.hasPrefix(word) || word.hasPrefix($0) }
    let meant = near.map { " Did you mean `\(parent) \($0)`?" } ?? ""
    return .usage("Unknown command `\(word)`.\(meant)", hints: ["`\(parent) --help` lists the commands."])
  }
}
