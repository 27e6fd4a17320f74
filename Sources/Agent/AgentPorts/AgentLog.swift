/// Shapes, not lines: an event's name and a few allowed fields, none of which can carry input, a name or a secret.
public protocol AgentLog: Sendable {
  func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)])
}

public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case trace, debug, info, notice, warning, error

  public static func < (a: LogLevel, b: LogLevel) -> Bool {
    allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
  }
}

/// The fields that may be logged at all.
public enum LogField: String, Sendable {
  case method, account, provider, code, status, attempt, bytes, connection, count, milliseconds, reason, signIn
}

/// What a field may hold: a number, a word of this program's own, or a keyed hash of something outside it.
public enum LogValue: Sendable {
  case number(Int64)
  case word(StaticString)
  /// A word from a closed list: a method's name, an error's name.
  case name(String)
  /// Hashed with a key of this run before it is written, so that lines can be joined and nothing can be read.
  case hashed(String)
}

/// Writes nothing.
public struct SilentLog: AgentLog {
  public init() {}
  public func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {}
}
