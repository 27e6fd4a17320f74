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
  func apply() throws(CommandFailure)
  /// Takes back exactly what `apply` wrote.
  func undo() throws(CommandFailure)
}

extension SetupChange {
  var identity: String { "\(place): \(lines.joined(separator: "\n"))" }
}

enum SetupState: Equatable {
  case absent, present
  /// Something else is there, which stays: what it is, for a person. `byName`: an entry of another name could be added.
  case taken(String, byName: Bool = false)
}
