internal import AgentPorts
internal import Synchronization

/// The agent's log, kept to be searched for secrets.
final class RecordingLog: AgentLog {
  private let text = Mutex("")

  var everything: String { text.withLock { $0 } }

  func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {
    var line = "\(level.rawValue) \(event)"
    for (field, value) in fields {
      line += " \(field.rawValue)="
      switch value {
      case .number(let number): line += "\(number)"
      case .word(let word): line += "\(word)"
      case .name(let name): line += name
      case .quoted(let text): line += "\"\(text)\""
      case .hashed: line += "#"  // the real adapter hashes it with a key of its run
      }
    }
    text.withLock { $0 += line + "\n" }
  }
}
