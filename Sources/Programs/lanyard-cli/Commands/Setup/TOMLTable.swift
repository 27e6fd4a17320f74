import CommandSupport

/// A table of its own in a TOML file, such as `[mcp_servers.NAME]` of Codex, between two comments at its end.
struct TOMLTable: FileChange {
  let table: [String]
  private let block: TextBlock

  /// `table` has names of letters, digits, `-` and `_`, and `content` lines as they are written.
  init(place: String, name: String, table: [String], content: [String]) {
    self.table = table
    // Without a section: the block is always appended, since a line that looks like the header may be in a text.
    block = TextBlock(
      place: place, name: name, isRepeatable: true, content: ["[\(table.joined(separator: "."))]"] + content)
  }

  var place: String { block.place }
  var file: String { block.place }
  var lines: [String] { block.lines }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState {
    let state = try block.state(in: file)
    guard let outline = TOMLOutline(file.text) else { throw StoreFile.malformed(file.path, "TOML") }
    guard state == .absent else { return state }
    return outline.has(table) ? .taken("the table \(table.joined(separator: "."))", byName: true) : .absent
  }

  func applied(to file: SetupFile) throws(CommandFailure) -> String { try block.applied(to: file) }

  func removed(from file: SetupFile) throws(CommandFailure) -> String? { try block.removed(from: file) }
}
