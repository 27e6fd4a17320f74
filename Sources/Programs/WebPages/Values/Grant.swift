internal import AgentModel

/// What a program may do, as `grant.list` gives it.
struct Grant: Sendable {
  let id: String
  let client: String
  let accounts: [String]
  let methods: [String]
  let origins: [String]
  let passOrigins: [String]
  let scopes: [String]
  let capabilities: [String]
  let isAgent: Bool
  let createdAt: Timestamp?
  let expiresAt: Timestamp?
  /// What the person allowed besides, at the program's request.
  let additions: [Addition]

  struct Addition: Sendable {
    let origins: [String]
    let methods: [String]
    let capabilities: [String]
    let expiresAt: Timestamp?

    init(_ value: JSONValue) {
      origins = value["origins"]?.strings ?? []
      methods = value["methods"]?.strings ?? []
      capabilities = value["capabilities"]?.strings ?? []
      expiresAt = value["expiresAt"]?.moment
    }
  }

  init?(_ value: JSONValue) {
    guard let id = value["grant"]?.string else { return nil }
    self.id = id
    client = value["client"]?.string ?? ""
    accounts = value["accounts"]?.strings ?? []
    methods = value["methods"]?.strings ?? []
    origins = value["origins"]?.strings ?? []
    passOrigins = value["passOrigins"]?.strings ?? []
    scopes = value["scopes"]?.strings ?? []
    capabilities = value["capabilities"]?.strings ?? []
    isAgent = value["agent"]?.isTrue ?? false
    createdAt = value["createdAt"]?.moment
    expiresAt = value["expiresAt"]?.moment
    additions = value["additions"]?.elements.map { Addition($0) } ?? []
  }

  func isOver(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}
