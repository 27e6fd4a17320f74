package import AgentCore
package import AgentModel
internal import AgentPorts
package import AgentVault
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension DeclaredKind {
  /// A caller's grant (docs/callers.md, Grants), without its secret.
  package static let callerGrant = DeclaredKind(27, under: .vault, [.counted, .answersForItself])
}

/// A program's permissions: methods, accounts and an end (docs/callers.md, Grants). Only that program knows the secret
/// that opens the grant; the agent keeps its hash.
package struct CallerGrant: Sendable {
  var id: [UInt8]
  /// SHA-256 of the secret. It has 256 random bits, so that nothing slower is needed.
  var hash: [UInt8]
  /// The program's name, chosen by the caller that created the grant.
  package var client: String
  package var accounts: [AccountID]
  package var patterns: [MethodPattern]
  /// The scopes that its tokens may have, and the resources that they may be for; nil for all.
  package var scopes: [String]?
  package var resources: [String]?
  /// The types of rights in detail that its tokens may carry; nil: as `Permission` says.
  package var detailTypes: [String]?
  /// The origins that its requests may go to; nil for all.
  package var origins: [String]?
  /// The origins to which a proxy lets it through without a token (`PassedOrigins`).
  package var passOrigins: [String]
  /// The capabilities of other callers' operations that it may claim; nil: of all, or for an AI agent of none.
  package var capabilities: [String]?
  /// The program is an AI agent: its requests only read.
  package var isForAgent: Bool
  package var createdAt: TrustedInstant
  /// Nil: the grant holds until it is revoked.
  var lifetime: Milliseconds?
  /// The grants under which this one was created: it is never wider than each of them, and ends with the first.
  var makers: [String]
  /// What persons added to it since.
  var additions: [Addition] = []

  /// An addition, for a while or until the grant ends.
  package struct Addition: Hashable, Sendable {
    package var content: PermissionAddition
    package var addedAt: TrustedInstant
    var lifetime: Milliseconds?

    package var expiresAt: Timestamp? { lifetime.map { addedAt.time + $0 } }
  }

  /// The bound in the schema of `grant`.
  static let mostAdditions = 64

  static let idBytes = 10
  /// The bound in the schema of `grant.list`.
  static let most = 1024

  /// The grant's id on the wire.
  package var name: String { "grt_" + Base32.encode(id) }

  package var expiresAt: Timestamp? { lifetime.map { createdAt.time + $0 } }

  /// The permission of this grant alone, among the methods that this agent knows.
  func permission(among methods: [GrantableMethod]) -> Permission {
    Permission(
      patterns: patterns, accounts: Set(accounts), scopes: scopes.map { Set($0) },
      resources: resources.map { Set($0) }, detailTypes: detailTypes.map { Set($0) }, origins: origins.map { Set($0) },
      passOrigins: PassedOrigins(passOrigins),
      capabilities: capabilities.map { Set($0) }, isForAgent: isForAgent,
      among: methods.map { (name: $0.name, mustBeNamed: $0.mustBeNamed) })
  }

  /// The stored hash of a secret. A prefix keeps it from being valid anywhere else.
  static func hash(of secret: Secret) -> [UInt8] {
    var message = SecretBuilder(capacity: 512)
    "lanyard grant 1\0".utf8.withContiguousStorageIfAvailable { message.append(UnsafeRawBufferPointer($0)) }
    message.append(secret)
    return message.withBytes { sha256($0) }
  }

  var record: Secret {
    SecretJSON.write { writer in
      writer.member("hash", Base64URL.encode(hash))
      writer.member("client", client)
      writer.member("accounts", accounts.map(\.text))
      writer.member("methods", patterns.map(\.text))
      if let scopes { writer.member("scopes", scopes) }
      if let resources { writer.member("resources", resources) }
      if let detailTypes { writer.member("detailTypes", detailTypes) }
      if let origins { writer.member("origins", origins) }
      if !passOrigins.isEmpty { writer.member("passOrigins", passOrigins) }
      if let capabilities { writer.member("capabilities", capabilities) }
      if isForAgent {
        writer.key("agent")
        writer.bool(true)
      }
      writer.member("createdAt", createdAt.time.milliseconds)
      writer.member("lived", createdAt.lived.count)
      writer.member("lifetime", lifetime?.count)
      writer.member("makers", makers)
      guard !additions.isEmpty else { return }
      writer.key("additions")
      writer.beginArray()
      for addition in additions { addition.write(to: &writer) }
      writer.endArray()
    }
  }
}

extension CallerGrant {
  init?(_ plain: Secret, id: [UInt8]) {
    let read = SecretJSON.read(plain) { node -> CallerGrant? in
      guard let hash = node["hash"]?.string.flatMap({ Base64URL.decode($0) }), hash.count == 32,
        let client = node["client"]?.string, let accounts = node["accounts"]?.strings,
        let methods = node["methods"]?.strings, let createdAt = node["createdAt"]?.timestamp,
        let lived = node["lived"]?.integer, let makers = node["makers"]?.strings,
        // A limit that can't be read is not the same as none.
        (node["scopes"] == nil) == (node["scopes"]?.strings == nil),
        (node["resources"] == nil) == (node["resources"]?.strings == nil),
        (node["detailTypes"] == nil) == (node["detailTypes"]?.strings == nil),
        (node["origins"] == nil) == (node["origins"]?.strings == nil),
        (node["capabilities"] == nil) == (node["capabilities"]?.strings == nil),
        (node["agent"] == nil) == (node["agent"]?.bool == nil)
      else { return nil }
      var grant = CallerGrant(
        id: id, hash: hash, client: client, accounts: accounts.compactMap { AccountID($0) },
        patterns: methods.compactMap { MethodPattern($0) }, scopes: node["scopes"]?.strings,
        resources: node["resources"]?.strings, detailTypes: node["detailTypes"]?.strings,
        origins: node["origins"]?.strings, passOrigins: node["passOrigins"]?.strings ?? [],
        capabilities: node["capabilities"]?.strings, isForAgent: node["agent"]?.bool ?? false,
        createdAt: TrustedInstant(time: createdAt, lived: Milliseconds(lived)),
        lifetime: node["lifetime"]?.integer.map { Milliseconds($0) }, makers: makers)
      grant.additions = node["additions"]?.elements.compactMap { Addition($0) } ?? []
      return grant
    }
    guard let read else { return nil }
    self = read
  }
}

extension CallerGrant.Addition {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("origins", content.origins.sorted())
    writer.member("methods", content.methods)
    writer.member("capabilities", content.capabilities.sorted())
    writer.member("addedAt", addedAt.time.milliseconds)
    writer.member("lived", addedAt.lived.count)
    writer.member("lifetime", lifetime?.count)
    writer.endObject()
  }

  /// Nil for one that can't be read: it adds nothing.
  fileprivate init?(_ node: JSONNode) {
    guard let origins = node["origins"]?.strings, let methods = node["methods"]?.strings,
      let capabilities = node["capabilities"]?.strings, let addedAt = node["addedAt"]?.timestamp,
      let lived = node["lived"]?.integer, (node["lifetime"] == nil) == (node["lifetime"]?.integer == nil)
    else { return nil }
    self.init(
      content: PermissionAddition(origins: origins, methods: methods, capabilities: capabilities),
      addedAt: TrustedInstant(time: addedAt, lived: Milliseconds(lived)),
      lifetime: node["lifetime"]?.integer.map { Milliseconds($0) })
  }
}

/// A method that a grant can cover.
package struct GrantableMethod: Hashable, Sendable {
  package var name: String
  /// A pattern with `*` does not cover it.
  package var mustBeNamed: Bool

  package init(name: String, mustBeNamed: Bool) {
    self.name = name
    self.mustBeNamed = mustBeNamed
  }
}
