import ArgumentParser
import CommandSupport

/// The command that the words of a command line name, and the first word at the place of a command that is none.
struct NamedCommand {
  /// Its words: `lanyard`, or `lanyard provider`.
  private(set) var path = "lanyard"
  private var unknown: String?
  private var known: [String] = []

  init(in words: [String], of root: any ParsableCommand.Type) {
    var command = root
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
      return .usage(Self.sentence(message), hints: ["`\(help)` shows how to use it."])
    }
    let near = NearMiss.of(unknown, among: known) ?? known.first { $0.hasPrefix(unknown) || unknown.hasPrefix($0) }
    let meant = near.map { " Did you mean `\(path) \($0)`?" } ?? ""
    return .usage("Unknown command `\(unknown)`.\(meant)", hints: ["`\(help)` lists the commands."])
  }

  /// ArgumentParser lists values on lines of their own, and ends few messages with a full stop.
  private static func sentence(_ message: String) -> String {
    let lines = message.split(separator: "\n").map { line in
      let text = line.drop { $0 == " " }
      return text.hasPrefix("- ") ? String(text.dropFirst(2)) : String(text)
    }
    guard let first = lines.first else { return "The command line is not complete." }
    let rest = lines.dropFirst().joined(separator: ", ")
    let text = rest.isEmpty ? first : "\(first) \(rest)"
    return text.last.map { ".?!".contains($0) } ?? true ? text : text + "."
  }
}
