/// What a person adds to a grant for a while (docs/approvals.md, Access).
public struct PermissionAddition: Hashable, Sendable {
  /// The contract's bound.
  public static let mostOrigins = 64

  /// In their normal form.
  public var origins: Set<String>
  /// Methods of requests, which an AI agent may send to these origins where no capability names them.
  public var requestMethods: Set<String>
  /// Methods of the agent.
  public var agentMethods: Set<String>
  public var capabilities: Set<String>

  /// - Parameter methods: those of requests are in capitals.
  public init(origins: some Sequence<String>, methods: some Sequence<String>, capabilities: some Sequence<String>) {
    self.origins = Set(origins)
    requestMethods = Set(methods.filter { Self.isRequestMethod($0) })
    agentMethods = Set(methods.filter { !Self.isRequestMethod($0) })
    self.capabilities = Set(capabilities)
  }

  /// Both kinds, sorted.
  public var methods: [String] { requestMethods.sorted() + agentMethods.sorted() }

  public static func isRequestMethod(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
  }
}
