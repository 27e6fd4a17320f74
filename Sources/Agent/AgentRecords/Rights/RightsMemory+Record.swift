package import AgentCore
internal import AgentModel
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// The snapshot as it is kept: under the account's data key, so that a soft sign-out leaves it sealed, and a hard one
/// takes it along (docs/sign-out.md, Modes).
extension RightsMemory {
  package var record: Secret {
    SecretJSON.write { writer in
      writer.member("version", Int64(clamping: version))
      writer.member("revision", Int64(clamping: revision))
      writer.member("source", source.rawValue)
      if rolesAreOwed { writer.member("rolesAreOwed", 1) }
      if hasNoEntitlements { writer.member("hasNoEntitlements", 1) }
      writer.part("scopes", scopes.value.names, scopes.toldAt)
      if let roles { writer.part("roles", roles.value.sorted(), roles.toldAt) }
      if let entitlements { writer.part("entitlements", entitlements.value.sorted(), entitlements.toldAt) }
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> RightsMemory? in
      guard let version = node["version"]?.integer, let revision = node["revision"]?.integer,
        let source = node["source"]?.string.flatMap({ AuthorizationSnapshot.Source(rawValue: $0) }),
        let (scopes, scopesToldAt) = node["scopes"]?.part
      else { return nil }
      return RightsMemory(
        scopes: Part(ScopeSet(scopes), toldAt: scopesToldAt),
        roles: node["roles"]?.part.map { Part(NameSet($0.names), toldAt: $0.toldAt) },
        entitlements: node["entitlements"]?.part.map { Part(NameSet($0.names), toldAt: $0.toldAt) },
        hasNoEntitlements: node["hasNoEntitlements"] != nil, rolesAreOwed: node["rolesAreOwed"] != nil,
        version: UInt64(clamping: version),
        revision: UInt64(clamping: revision), source: source)
    }
    guard let read else { return nil }
    self = read
  }
}

extension JSONWriter {
  fileprivate mutating func part(_ name: StaticString, _ names: [String], _ toldAt: TrustedInstant) {
    key(name)
    beginObject()
    member("names", names)
    member("toldAt", toldAt.time.milliseconds)
    member("lived", toldAt.lived.count)
    endObject()
  }
}

extension JSONNode {
  fileprivate var part: (names: [String], toldAt: TrustedInstant)? {
    guard let names = self["names"]?.strings, let time = self["toldAt"]?.timestamp, let lived = self["lived"]?.integer
    else { return nil }
    return (names, TrustedInstant(time: time, lived: Milliseconds(lived)))
  }
}
