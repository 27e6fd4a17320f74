import CommandSupport

/// One thing that `lanyard setup` writes for a tool, and takes back.
protocol SetupChange {
  /// Where it is written: a file, or a command.
  var place: String { get }
  /// What is written there, for a person.
  var lines: [String] { get }

  /// What tells it apart in the record of what was written.
  var identity: String { get }

  func state() throws(CommandFailure) -> SetupState
  /// Writes `record` first: what may have been written has to be found by `--undo`.
  func apply(notingIn record: inout SetupRecord) throws(CommandFailure)
  /// Takes back exactly what `apply` wrote.
  func undo(notingIn record: inout SetupRecord) throws(CommandFailure)
}

extension SetupChange {
  var identity: String { "\(place): \(lines.joined(separator: "\n"))" }
}

enum SetupState: Equatable {
  case absent, present
  /// Something else is there, which stays: what it is, for a person. `byName`: an entry of another name could be added.
  case taken(String, byName: Bool = false)
}

/// A change of the text of a file.
protocol FileChange: SetupChange {
  var file: String { get throws(CommandFailure) }

  func state(in file: SetupFile) throws(CommandFailure) -> SetupState
  func applied(to file: SetupFile) throws(CommandFailure) -> String
  /// True if `rest`, the text without the characters that were inserted, has everything else as before: the person may
  /// have added to what was inserted.
  func leavesTheRest(_ rest: String, of file: SetupFile) throws(CommandFailure) -> Bool
  /// The text without what was written, for a file in which the person changed something there since. Nil if it is gone.
  func removed(from file: SetupFile) throws(CommandFailure) -> String?
}

extension FileChange {
  func state() throws(CommandFailure) -> SetupState { try state(in: SetupFile(file)) }

  func leavesTheRest(_ rest: String, of file: SetupFile) -> Bool { true }

  func apply(notingIn record: inout SetupRecord) throws(CommandFailure) {
    let found = try SetupFile(file)
    let new = try applied(to: found)
    record.edits.append(
      FileEdit(change: identity, path: found.path, from: found.text, to: new, isNewFile: !found.isThere))
    try record.write()
    try found.replace(by: new)
  }

  func undo(notingIn record: inout SetupRecord) throws(CommandFailure) {
    let edit = record.edits.last { $0.change == identity }
    let path = if let edit { edit.path } else { try file }
    let found = try SetupFile(path)
    var rest = edit?.undone(in: found.text)
    if let exact = rest, !(try leavesTheRest(exact, of: found)) { rest = nil }
    if rest == nil { rest = try removed(from: found) }
    guard let rest else { return }
    let isNewFile = record.edits.first { $0.path == found.path }?.isNewFile ?? rest.isEmpty
    try found.replace(by: rest, keepingEmpty: !isNewFile)
  }
}
