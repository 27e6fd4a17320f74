import ArgumentParser
import CommandSupport

/// The help of a command, taken apart.
struct HelpText {
  /// An option, an argument or a subcommand, and what it is for.
  struct Entry {
    var label: String
    var text: String
  }

  /// How the command is called, without `USAGE:`.
  private(set) var usage = ""
  /// The paragraphs of the discussion, without examples and exit codes. Those that are laid out keep their lines.
  private(set) var paragraphs: [[String]] = []
  private(set) var examples: [String] = []
  private(set) var exitCodes: [String] = []
  /// By title, as `OPTIONS`.
  private(set) var sections: [(title: String, entries: [Entry])] = []

  /// Wide enough that no description is broken.
  private static let columns = 10_000
  /// ArgumentParser writes descriptions from this column on.
  private static let labelWidth = 26

  init(of command: any ParsableCommand.Type, in root: any ParsableCommand.Type) {
    let help = root.helpMessage(for: command, columns: Self.columns)
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let start = lines.firstIndex { $0.hasPrefix(Self.usageTitle) } ?? lines.endIndex
    readDiscussion(lines[..<start].dropFirst())
    guard start < lines.endIndex else { return }
    usage = String(lines[start].dropFirst(Self.usageTitle.count))
    readSections(Array(lines[(start + 1)...]))
  }

  private static let usageTitle = "USAGE: "

  private mutating func readDiscussion(_ lines: ArraySlice<String>) {
    for paragraph in lines.split(separator: "") where !paragraph.isEmpty {
      switch paragraph.first {
      case "EXAMPLES:": examples = Array(paragraph.dropFirst())
      case "EXIT CODES:": exitCodes = Array(paragraph.dropFirst())
      default: paragraphs.append(Array(paragraph))
      }
    }
  }

  private mutating func readSections(_ lines: [String]) {
    for (index, line) in lines.enumerated() where !line.isEmpty {
      guard line.hasPrefix(" ") else {
        if line.hasSuffix(":") { sections.append((String(line.dropLast()), [])) }
        continue
      }
      let margin = String(repeating: " ", count: Self.labelWidth)
      guard !sections.isEmpty, !line.hasPrefix(margin) else {
        addText(line)
        continue
      }
      // A label that is too long has a line of its own.
      let isAlone = index + 1 < lines.count && lines[index + 1].hasPrefix(margin)
      let split = isAlone ? line.count : min(line.count, Self.labelWidth)
      let (label, text) = (line.prefix(split), line.dropFirst(split))
      if label.allSatisfy({ $0 == " " }) || label.hasPrefix("   ") { continue }
      sections[sections.count - 1].entries.append(
        Entry(label: label.trimmed, text: text.trimmed))
    }
    // The last line names the help of the subcommands, and is no entry.
    for index in sections.indices { sections[index].entries.removeAll { $0.label.hasPrefix("See 'lanyard help") } }
  }

  private mutating func addText(_ line: String) {
    guard let section = sections.indices.last, let entry = sections[section].entries.indices.last else { return }
    sections[section].entries[entry].text = line.trimmed
  }

  /// The entries of the sections with this title, or with a title that ends so.
  func entries(_ title: String) -> [Entry] {
    sections.filter { $0.title.hasSuffix(title) }.flatMap(\.entries)
  }

  /// The names of all options, also of those that the help leaves out.
  static func options(of command: any ParsableCommand.Type, in root: any ParsableCommand.Type) -> [String] {
    root.helpMessage(for: command, includeHidden: true, columns: columns).split(separator: "\n")
      .filter { $0.hasPrefix("  -") }
      .flatMap { line in
        line.prefix { $0 != "<" }.split(whereSeparator: { " /,".contains($0) }).prefix { $0.hasPrefix("-") }.map(
          String.init)
      }
  }

  /// `help` with its line of usage broken between options, so that it fits a screen.
  static func fitted(_ help: String) -> String {
    let columns = Terminal.showsAnswers ? min(80, Terminal.answerColumns) : 80
    return help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.hasPrefix(usageTitle), TextWidth.of(line) > columns else { return String(line) }
      let margin = String(repeating: " ", count: usageTitle.count)
      var lines: [String] = []
      for word in words(of: String(line)) {
        if let last = lines.last, TextWidth.of(last) + 1 + TextWidth.of(word) <= columns {
          lines[lines.count - 1] = last + " " + word
        } else {
          lines.append((lines.isEmpty ? "" : margin) + word)
        }
      }
      return lines.joined(separator: "\n")
    }.joined(separator: "\n")
  }

  /// The words of a line of usage; an option in brackets, with its value, is one.
  private static func words(of usage: String) -> [String] {
    var words: [String] = []
    var depth = 0
    for word in usage.split(separator: " ") {
      if depth > 0 { words[words.count - 1] += " " + word } else { words.append(String(word)) }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return words
  }
}

extension StringProtocol {
  fileprivate var trimmed: String {
    var text = Substring(self)
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
