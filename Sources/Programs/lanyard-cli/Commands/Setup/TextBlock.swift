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
    if all.contains(begin) { return .present }
    let own = isRepeatable ? [] : Set(content.compactMap(Self.key))
    var present: String?
    for line in all {
      if let header = Self.header(line) { present = header }
      guard present == section, let key = Self.key(line), own.contains(key) else { continue }
      return .taken(line.trimmedLine)
    }
    return .absent
  }

  func inserted(into text: String) -> String {
    var all = Self.lines(of: text)
    let block = [begin] + content + [end]
    if isFirst { return Self.text(block + all) }
    if let section, let place = all.firstIndex(where: { Self.header($0) == section }) {
      all.insert(contentsOf: block, at: place + 1)
      return Self.text(all)
    }
    return Self.text(all + [begin] + lines + [end])
  }

  /// Nil if the block is not there.
  func removed(from text: String) -> String? {
    var all = Self.lines(of: text)
    guard let first = all.firstIndex(of: begin), let last = all[first...].firstIndex(of: end) else { return nil }
    all.removeSubrange(first...last)
    return Self.text(all)
  }

  private static func lines(of text: String) -> [String] {
    var all = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if all.last == "" { all.removeLast() }
    return all
  }

  private static func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }

  private static func header(_ line: String) -> String? {
    let line = line.trimmedLine
    guard line.hasPrefix("["), let close = line.lastIndex(of: "]") else { return nil }
    return String(line[...close])
  }

  /// The name before `=`; nil for other lines.
  private static func key(_ line: String) -> String? {
    guard let sign = line.firstIndex(of: "="), !line.hasPrefix("#") else { return nil }
    return String(line[..<sign]).trimmedLine
  }
}
