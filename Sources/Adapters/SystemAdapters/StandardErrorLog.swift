public import AgentPorts
internal import Glibc
internal import Secrets

/// Writes log lines to standard error, one `key=value` line each. Names from outside are hashed with a key of this run:
/// lines of one account can be joined, but do not reveal it.
public struct StandardErrorLog: AgentLog {
  private let least: LogLevel
  private let key = SealingKey.random()
  /// stderr is a file: a journal adds the time itself, a file does not.
  private let writesTime: Bool

  public init(least: LogLevel) {
    self.least = least
    var information = stat()
    writesTime = fstat(STDERR_FILENO, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
  }

  public func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {
    guard level >= least else { return }
    var line = writesTime ? "time=\(Self.now) " : ""
    line += "level=\(level.rawValue) event=\"\(event)\""
    for (field, value) in fields { line += " \(field.rawValue)=\(text(value))" }
    line += "\n"
    // One write for each line, so that lines of several threads do not mix.
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// RFC 3339 in UTC, in seconds.
  private static var now: String {
    var seconds = time(nil)
    var fields = tm()
    gmtime_r(&seconds, &fields)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(fields.tm_year + 1900)-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))"
      + "T\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec))Z"
  }

  private func text(_ value: LogValue) -> String {
    switch value {
    case .number(let number): String(number)
    case .word(let word): "\(word)"
    case .name(let name): name
    case .quoted(let text): "\"\(text)\""
    case .hashed(let outside):
      "#"
        + key.digest("log", Array(outside.utf8)).prefix(6).map { Self.digits[Int($0 >> 4)] + Self.digits[Int($0 & 15)] }
        .joined()
    }
  }

  private static let digits = "0123456789abcdef".map(String.init)
}
