/// What the agent was started with beside its options.
public struct StartConfiguration: Sendable {
  /// The configuration file; nil if there is none.
  public var path: String?
  /// Looks again: what is wrong now with the file, or with a file that it or the environment names, in sentences for a
  /// person. Empty if nothing is.
  public var problems: @Sendable () -> [String]

  public init(path: String? = nil, problems: @escaping @Sendable () -> [String] = { [] }) {
    self.path = path
    self.problems = problems
  }
}
