/// The diagnostic log. A line is an event name and fields from a closed list; input, names of persons and secrets have
/// no field.
public protocol AgentLog: Sendable {
  /// Writes one line if `level` is enabled.
  func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)])
}

/// Severity, from the least.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case trace, debug, info, notice, warning, error

  public static func < (a: LogLevel, b: LogLevel) -> Bool {
    allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
  }
}

/// The fields that a log line may have.
public enum LogField: String, Sendable {
  case method, account, provider, code, status, attempt, bytes, connection, count, milliseconds, reason, signIn,
    process, error, description
}

/// The value of a field: a number, a word of the program, or a keyed hash of outside data.
public enum LogValue: Sendable {
  case number(Int64)
  case word(StaticString)
  /// A word from a closed list, such as a method or an error name.
  case name(String)
  /// Cleaned text of a provider, without quotes and backslashes.
  case quoted(String)
  /// Hashed with a key of this process before it is written: equal values can be matched, not read.
  case hashed(String)
}

/// A log that writes nothing.
public struct SilentLog: AgentLog {
  public init() {}
  public func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {}
}
