public import AgentPorts
internal import Glibc
internal import Secrets

/// Writes log lines to standard error, one `key=value` line each. Names from outside are hashed with a key of this run:
/// lines of one account can be joined, but do not reveal it.
public struct StandardErrorLog: AgentLog {
  private let least: LogLevel
  private let key = SealingKey.random()

  public init(least: LogLevel) { self.least = least }

  public func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {
    guard level >= least else { return }
    var line = "level=\(level.rawValue) event=\"\(event)\""
    for (field, value) in fields { line += " \(field.rawValue)=\(text(value))" }
    line += "\n"
    // One write for each line, so that lines of several threads do not mix.
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  private func text(_ value: LogValue) -> String {
    switch value {
    case .number(let number): String(number)
    case .word(let word): "\(word)"
    case .name(let name): name
    case .hashed(let outside):
      "#"
        + key.digest("log", Array(outside.utf8)).prefix(6).map { Self.digits[Int($0 >> 4)] + Self.digits[Int($0 & 15)] }
        .joined()
    }
  }

  private static let digits = "0123456789abcdef".map(String.init)
}
