import ArgumentParser
import CommandSupport

/// The manual pages in roff (man(7)), from the help of the commands, with the sections in the order of man-pages(7).
enum ManualPages {
  private static let columns = 76

  /// A page: its name in section 1, and its source.
  struct Page {
    var name: String
    var text: String

    init(_ name: String, _ lines: [String]) { (self.name, text) = (name, lines.joined(separator: "\n") + "\n") }
  }

  /// The page of all commands, and one for each. `root`: `lanyard` itself, which has them.
  static func all(of root: any ParsableCommand.Type) -> [Page] {
    [overview(of: root)] + pages(of: root, words: ["lanyard"], in: root)
  }

  /// The page of a command; nil if there is none.
  static func page(of words: [String], in root: any ParsableCommand.Type) -> Page? {
    if words.isEmpty { return overview(of: root) }
    return all(of: root).first { $0.name == (["lanyard"] + words).joined(separator: "-") }
  }

  private static func overview(of root: any ParsableCommand.Type) -> Page {
    let help = HelpText(of: root, in: root)
    var lines = head("lanyard", "sign in once; programs ask the agent for tokens")
    lines += [".SH SYNOPSIS", ".B lanyard", ".I command", "[options]"]
    lines += [".SH DESCRIPTION"] + prose(help.paragraphs)
    lines += [".SH OPTIONS"] + list(help.entries("OPTIONS"))
    lines += [".SH COMMANDS"] + commands(of: root, path: "lanyard", in: root)
    lines += section(.json, title: "JSON") + section(.exitCodes, title: "EXIT STATUS")
    lines += section(.environment, title: "ENVIRONMENT")
    lines += [".SH FILES", ".TP", ".I .lanyard", "The account of a directory and of those below, if it is trusted."]
    lines += [
      ".TP", ".I ~/.config/lanyard", "The agent's configuration, trusted directories, and what lanyard setup wrote.",
      ".TP",
      ".I ~/.local/state/lanyard", "The agent's sealed store.",
    ]
    lines += [".SH EXAMPLES"] + verbatim(help.examples.joined(separator: "\n"))
    lines += [".SH SEE ALSO", "lanyard-agent(1), lanyard-token(1), lanyard-setup(1)"]
    return Page("lanyard", lines)
  }

  /// The page of the agent, from what it prints itself.
  static func agent(help: String) -> Page {
    let parts = help.split(separator: "\n", omittingEmptySubsequences: false).split(separator: "")
    func isUsage(_ part: some Collection<Substring>) -> Bool { part.first?.hasPrefix("USAGE: ") == true }
    func isExit(_ part: some Collection<Substring>) -> Bool { part.first == "EXIT CODES" }
    let usage = parts.first(where: isUsage)?.joined(separator: " ").dropFirst("USAGE: lanyard-agent ".count) ?? ""
    let exit = parts.first(where: isExit)?.dropFirst().joined(separator: "\n") ?? ""
    let options = parts.drop { !isUsage($0) }.dropFirst().filter { !isExit($0) && isOfOptions($0) }
    let rest = parts.filter { !isUsage($0) && !isExit($0) && !isOfOptions($0) }.dropFirst()
    func text(_ parts: some Collection<ArraySlice<Substring>>) -> String {
      parts.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }
    var lines = head("lanyard-agent", "holds the accounts of one person and serves tokens to local programs")
    lines += [".SH SYNOPSIS", ".B lanyard\\-agent", escaped(usage)]
    lines += [
      ".SH DESCRIPTION", "Serves JSON\\-RPC 2.0 on a unix socket, or to one client on standard input and output.",
    ]
    lines += rest.flatMap { [".PP", escaped($0.joined(separator: " "))] }
    lines += [".SH OPTIONS"] + verbatim(text(options)) + [".SH EXIT STATUS"] + verbatim(exit)
    lines += [".SH ENVIRONMENT", "As for the commands: ENVIRONMENT in lanyard(1).", ".SH SEE ALSO", "lanyard(1)"]
    return Page("lanyard-agent", lines)
  }

  /// A part of the agent's help that lists options, or goes on with one.
  private static func isOfOptions(_ part: ArraySlice<Substring>) -> Bool {
    part.contains { $0.hasPrefix("  -") } || part.first?.hasPrefix("  ") == true
  }

  private static func pages(
    of parent: any ParsableCommand.Type, words: [String], in root: any ParsableCommand.Type
  ) -> [Page] {
    parent.configuration.subcommands.flatMap { command -> [Page] in
      let own = words + [command._commandName]
      return [page(of: command, words: own, in: root)] + pages(of: command, words: own, in: root)
    }
  }

  private static func page(
    of command: any ParsableCommand.Type, words: [String], in root: any ParsableCommand.Type
  ) -> Page {
    let (name, path) = (words.joined(separator: "-"), words.joined(separator: " "))
    let help = HelpText(of: command, in: root)
    let abstract = command.configuration.abstract
    var lines = head(name, abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract)
    let usage = help.usage.hasPrefix(path) ? help.usage.dropFirst(path.count + 1) : help.usage[...]
    lines += [".SH SYNOPSIS", ".B \(escaped(path))", escaped(usage)]
    lines += [".SH DESCRIPTION"] + prose(help.paragraphs.isEmpty ? [[abstract]] : help.paragraphs)
    let subcommands = help.entries("SUBCOMMANDS")
    if !subcommands.isEmpty { lines += [".SH COMMANDS"] + list(subcommands) }
    lines += [".SH OPTIONS"] + list(help.entries("ARGUMENTS") + help.entries("OPTIONS"))
    if let shape = JSONShapes.of(words.dropFirst().joined(separator: " ")) {
      lines += [".SH JSON", "With \\-\\-json it prints:"] + verbatim(shape)
    }
    lines += [".SH EXIT STATUS"]
    if !help.exitCodes.isEmpty { lines += verbatim(help.exitCodes.joined(separator: "\n")) + [".PP"] }
    lines += ["As all commands: EXIT STATUS in lanyard(1)."]
    lines += [".SH ENVIRONMENT", "As for all commands: ENVIRONMENT in lanyard(1)."]
    if !help.examples.isEmpty { lines += [".SH EXAMPLES"] + verbatim(help.examples.joined(separator: "\n")) }
    let parent = words.dropLast().joined(separator: "-")
    lines += [".SH SEE ALSO", "\(parent)(1)" + (parent == "lanyard" ? "" : ", lanyard(1)")]
    return Page(name, lines)
  }

  private static func head(_ name: String, _ abstract: String) -> [String] {
    [
      #".TH \#(name.uppercased()) 1 "" "lanyard \#(Version.text)" "User commands""#, ".SH NAME",
      "\(escaped(name)) \\- \(abstract)",
    ]
  }

  private static func section(_ topic: HelpTopic, title: String) -> [String] {
    let lines = topic.text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(2)
    return [".SH \(title)"] + verbatim(lines.joined(separator: "\n"))
  }

  private static func commands(
    of parent: any ParsableCommand.Type, path: String, in root: any ParsableCommand.Type
  ) -> [String] {
    parent.configuration.subcommands.flatMap { command -> [String] in
      let path = "\(path) \(command._commandName)"
      let help = HelpText.fitted(root.helpMessage(for: command, columns: columns))
      return [".SS \(path)"] + verbatim(help) + commands(of: command, path: path, in: root)
    }
  }

  /// Paragraphs that roff fills; one with a margin keeps its lines.
  private static func prose(_ paragraphs: [[String]]) -> [String] {
    paragraphs.flatMap { lines -> [String] in
      var told = [".PP"]
      var laidOut: [String] = []
      for line in lines {
        if line.hasPrefix(" ") {
          laidOut.append(line)
          continue
        }
        if !laidOut.isEmpty { told += verbatim(laidOut.joined(separator: "\n")) }
        laidOut = []
        told.append(escaped(line))
      }
      return told + (laidOut.isEmpty ? [] : verbatim(laidOut.joined(separator: "\n")))
    }
  }

  private static func list(_ entries: [HelpText.Entry]) -> [String] {
    entries.flatMap { [".TP", ".B \(escaped($0.label))", escaped($0.text)] }
  }

  /// Text as it is.
  private static func verbatim(_ text: String) -> [String] {
    [".nf"] + text.split(separator: "\n", omittingEmptySubsequences: false).map { escaped($0) } + [".fi"]
  }

  /// A line of text. A leading dot or quote would be a request, and a backslash begins an escape.
  private static func escaped(_ line: some StringProtocol) -> String {
    let escaped = line.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\e")
      .split(separator: "-", omittingEmptySubsequences: false).joined(separator: "\\-")
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}
