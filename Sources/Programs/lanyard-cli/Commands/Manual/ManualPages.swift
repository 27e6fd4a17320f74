import ArgumentParser
import CommandSupport

/// The manual pages in roff (man(7)), from the help of the commands.
enum ManualPages {
  private static let columns = 76

  /// A page: its name in section 1, and its source.
  struct Page {
    var name: String
    var text: String
  }

  /// The page of all commands, and one for each.
  static var all: [Page] { [overview] + pages(of: Lanyard.self, words: ["lanyard"]) }

  /// The page of a command; nil if there is none.
  static func page(of words: [String]) -> Page? {
    words.isEmpty ? overview : all.first { $0.name == (["lanyard"] + words).joined(separator: "-") }
  }

  static var overview: Page {
    var lines = head("lanyard", "sign in once; programs ask the agent for tokens")
    lines += [".SH SYNOPSIS", ".B lanyard", ".I command", "[options]", ".SH DESCRIPTION"]
    lines += verbatim(Lanyard.helpMessage(columns: columns))
    lines.append(".SH COMMANDS")
    lines += commands(of: Lanyard.self, path: "lanyard")
    for topic in HelpTopic.allCases { lines += section(topic) }
    lines += [".SH FILES", ".TP", ".I .lanyard", "The account of a directory and of those below, if it is trusted."]
    lines += [".SH SEE ALSO", "lanyard-agent(1), lanyard-token(1), lanyard-setup(1)"]
    return Page(name: "lanyard", text: lines.joined(separator: "\n") + "\n")
  }

  /// The page of the agent, from what it prints itself.
  static func agent(help: String) -> Page {
    var lines = head("lanyard-agent", "holds the accounts of one person and serves tokens to local programs")
    lines += [".SH DESCRIPTION"] + verbatim(help) + [".SH SEE ALSO", "lanyard(1)"]
    return Page(name: "lanyard-agent", text: lines.joined(separator: "\n") + "\n")
  }

  private static func pages(of parent: any ParsableCommand.Type, words: [String]) -> [Page] {
    parent.configuration.subcommands.flatMap { command -> [Page] in
      let own = words + [command._commandName]
      return [page(of: command, words: own)] + pages(of: command, words: own)
    }
  }

  private static func page(of command: any ParsableCommand.Type, words: [String]) -> Page {
    let name = words.joined(separator: "-")
    let abstract = command.configuration.abstract
    var lines = head(name, abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract)
    lines += [".SH DESCRIPTION"] + verbatim(Lanyard.helpMessage(for: command, columns: columns))
    if let shape = JSONShapes.of(words.dropFirst().joined(separator: " ")) {
      lines += [".SH JSON", "With \\-\\-json it prints:"] + verbatim(shape)
    }
    let parent = words.dropLast().joined(separator: "-")
    lines += [".SH EXIT STATUS", "As all commands: lanyard(1), EXIT CODES."]
    lines += [".SH SEE ALSO", "\(parent)(1)" + (parent == "lanyard" ? "" : ", lanyard(1)")]
    return Page(name: name, text: lines.joined(separator: "\n") + "\n")
  }

  private static func head(_ name: String, _ abstract: String) -> [String] {
    let escaped = name.split(separator: "-").joined(separator: "\\-")
    return [
      #".TH \#(name.uppercased()) 1 "" "lanyard \#(Version.text)" "User commands""#, ".SH NAME",
      "\(escaped) \\- \(abstract)",
    ]
  }

  private static func section(_ topic: HelpTopic) -> [String] {
    let lines = topic.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    return [".SH \(lines[0])"] + verbatim(lines.dropFirst(2).joined(separator: "\n"))
  }

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
