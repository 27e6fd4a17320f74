import CommandSupport
import Glibc

/// Lines between two comments in a configuration file: at the beginning of a section if there is one, else at the end of
/// the file, with the section's header.
struct TextBlock: FileChange {
  let place: String
  /// Tells the blocks of one file apart.
  let name: String
  /// The header of the section, as `[global]`; nil for lines that stand alone.
  var section: String?
  /// True for lines that have to stand before any section.
  var isFirst = false
  /// True for settings that may be given several times.
  var isRepeatable = false
  /// True for a file that has to be TOML: lines in a broken one could come to mean something else once it is mended.
  var isTOML = false
  let content: [String]

  private var begin: String { "# lanyard setup \(name): begin" }
  private var end: String { "# lanyard setup \(name): end" }

  var lines: [String] { (section.map { [$0] } ?? []) + content }

  var file: String { place }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    if isTOML, TOMLOutline(file.text) == nil { throw StoreFile.malformed(file.path, "TOML") }
    return state(in: file.text)
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String { inserted(into: file.text) }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? { removed(from: file.text) }

  func state(in text: String) -> SetupState {
    let all = Self.lines(of: text)
    if let block = block(in: all) {
      let lines = Array(all[block])
      guard lines == written || lines == written(with: section) else {
        return .taken("other lines of `lanyard setup \(name)`")
      }
      // What follows would come to another section without the header in the block.
      let next = all[(block.upperBound + 1)...].first { Self.key($0) != nil || Self.header($0) != nil }
      let hasHeader = lines.contains { Self.header($0) != nil }
      return hasHeader && next.map { Self.header($0) == nil } ?? false
        ? .taken("more lines in the section of `lanyard setup \(name)`: \(Self.trimmed(next ?? ""))") : .present
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
    file.remove(block)
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

/// The lines of a file. Their ends stay as they are: LF or CR LF, and with or without one at the end of the file.
private struct Lines {
  /// Without their ends.
  private(set) var all: [String] = []
  private var ends: [String] = []

  init(_ text: String) {
    var rest = text.utf8[...]
    while let end = rest.firstIndex(of: 0x0A) {
      let isWindows = end > rest.startIndex && rest[rest.index(before: end)] == 0x0D
      all.append(String(Substring(rest[..<(isWindows ? rest.index(before: end) : end)])))
      ends.append(isWindows ? "\r\n" : "\n")
      rest = rest[rest.index(after: end)...]
    }
    if !rest.isEmpty {
      all.append(String(Substring(rest)))
      ends.append("")
    }
  }

  /// With the line end of the first line. After a last line without one the inserted lines have none at their end, either.
  mutating func insert(_ lines: [String], at place: Int) {
    let end = ends.first { !$0.isEmpty } ?? "\n"
    var newEnds = lines.map { _ in end }
    if place == all.count, ends.last == "" { swap(&newEnds[newEnds.count - 1], &ends[place - 1]) }
    all.insert(contentsOf: lines, at: place)
    ends.insert(contentsOf: newEnds, at: place)
  }

  mutating func remove(_ range: ClosedRange<Int>) {
    if range.lowerBound > 0, ends[range.upperBound] == "" { ends[range.lowerBound - 1] = "" }
    all.removeSubrange(range)
    ends.removeSubrange(range)
  }

  var text: String { zip(all, ends).map { $0 + $1 }.joined() }
}
