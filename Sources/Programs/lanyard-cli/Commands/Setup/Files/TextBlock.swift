import CommandSupport
import Glibc

/// Lines between two comments in a configuration file: at the beginning of a section if there is one, else at the end of
/// the file, with the section's header.
struct TextBlock: SetupChange {
  let place: String
  /// Tells the blocks of one file apart.
  let name: String
  /// The header of the section, as `[global]`; nil for lines that stand alone.
  var section: String?
  /// True for lines that have to stand before any section.
  var isFirst = false
  /// True for settings that may be given several times.
  var isRepeatable = false
  let content: [String]

  private var begin: String { "# lanyard setup \(name): begin" }
  private var end: String { "# lanyard setup \(name): end" }

  var lines: [String] { (section.map { [$0] } ?? []) + content }

  func state() throws(CommandFailure) -> SetupState { try state(in: SetupFile(place).text) }

  func apply() throws(CommandFailure) {
    let file = try SetupFile(place)
    guard state(in: file.text) == .absent else { return }
    try file.replace(by: inserted(into: file.text))
  }

  func undo() throws(CommandFailure) {
    let file = try SetupFile(place)
    guard let rest = removed(from: file.text) else { return }
    try file.replace(by: rest)
  }

  func state(in text: String) -> SetupState {
    let all = Self.lines(of: text)
    if let block = block(in: all) {
      return Array(all[block]) == written || Array(all[block]) == written(with: section)
        ? .present : .taken("other lines of `lanyard setup \(name)`")
    }
    if all.contains(where: { Self.trimmed($0) == begin }) {
      return .taken("a part of the lines of `lanyard setup \(name)`")
    }
    let own = isRepeatable ? [] : Set(content.compactMap(Self.key))
    var present: String?
    for line in all {
      if let header = Self.header(line) {
        present = header
      } else if present == section, let key = Self.key(line), own.contains(key) {
        return .taken(Self.trimmed(line))
      } else if present == nil, let section, let key = Self.key(line), Self.names(key, a: section) {
        // TOML has a second way to write what is in a table, and not both at once.
        return .taken(Self.trimmed(line))
      }
    }
    return .absent
  }

  func inserted(into text: String) -> String {
    var file = Lines(text)
    if isFirst {
      file.insert(written, at: 0)
    } else if let section, let place = file.all.firstIndex(where: { Self.header($0) == section }) {
      file.insert(written, at: place + 1)
    } else {
      file.insert(written(with: section), at: file.all.count)
    }
    return file.text
  }

  /// Nil if the block is not there as it was written.
  func removed(from text: String) -> String? {
    guard state(in: text) == .present else { return nil }
    var file = Lines(text)
    guard let block = block(in: file.all) else { return nil }
    file.all.removeSubrange(block)
    return file.text
  }

  private var written: [String] { [begin] + content + [end] }

  private func written(with header: String?) -> [String] { [begin] + (header.map { [$0] } ?? []) + content + [end] }

  private func block(in all: [String]) -> ClosedRange<Int>? {
    let trimmed = all.map(Self.trimmed)
    guard let first = trimmed.firstIndex(of: begin), let last = trimmed[first...].firstIndex(of: end) else {
      return nil
    }
    return first...last
  }

  private static func lines(of text: String) -> [String] { Lines(text).all }

  /// Without white space around it, and without the mark that some editors put at the beginning of a file.
  private static func trimmed(_ line: String) -> String {
    let line = line.trimmedLine
    return line.hasPrefix("\u{FEFF}") ? String(line.dropFirst()).trimmedLine : line
  }

  /// `[ name ]` as `[name]`.
  private static func header(_ line: String) -> String? {
    let line = trimmed(line)
    guard line.hasPrefix("["), let close = line.lastIndex(of: "]") else { return nil }
    return "[\(String(line[line.index(after: line.startIndex)..<close]).trimmedLine)]"
  }

  /// The name before `=` or `:`; nil for other lines.
  private static func key(_ line: String) -> String? {
    let line = trimmed(line)
    guard let sign = line.firstIndex(where: { $0 == "=" || $0 == ":" }), !line.hasPrefix("#"), !line.hasPrefix(";")
    else {
      return nil
    }
    return String(line[..<sign]).trimmedLine
  }

  private static func names(_ key: String, a section: String) -> Bool {
    let name = section.dropFirst().dropLast()
    return key == name || key.hasPrefix(name + ".")
  }
}

/// The lines of a file, without their ends, which stay as they are: LF or CR LF, and with or without one at the end.
private struct Lines {
  var all: [String]
  private let separator: String
  private let isEnded: Bool

  init(_ text: String) {
    var parts = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(Substring($0)) }
    isEnded = text.isEmpty || parts.last == ""
    if parts.last == "" { parts.removeLast() }
    separator = parts.first?.utf8.last == 0x0D ? "\r\n" : "\n"
    all = parts.map { $0.utf8.last == 0x0D ? String($0.unicodeScalars.dropLast()) : $0 }
  }

  mutating func insert(_ lines: [String], at place: Int) { all.insert(contentsOf: lines, at: place) }

  var text: String { all.joined(separator: separator) + (isEnded && !all.isEmpty ? separator : "") }
}
