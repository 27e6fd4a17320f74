internal import AgentCore
internal import AgentModel
internal import JSONRPC
internal import Secrets

extension IdentityProof {
  /// For servers without ID tokens and without userinfo: what the provider says of the access token (RFC 7662 §2.2).
  func fromIntrospection(_ accessToken: Secret, at endpoint: String) async throws(IdentityFailure) -> Person {
    let names = claimNames
    let clientID = client.provider.configuration.clientID
    typealias Found = (subject: String, tenant: String?, name: String?)
    let found: Found
    do throws(DocumentFailure) {
      found = try await client.documents.introspect(accessToken, at: endpoint) { node -> Found? in
        // An inactive token, or one of another client, proves no identity.
        guard node["active"]?.bool == true, node["client_id"]?.string.map({ equalCodePoints($0, clientID) }) ?? true,
          let subject = node["sub"]?.string
        else { return nil }
        return (
          subject, names.tenant.flatMap { node.text(ofMember: $0) },
          node["username"]?.string
        )
      }
    } catch {
      if case .malformed = error { throw .notNamed(.introspection) }
      throw .notNamed(.document(error))
    }
    return try person(Claims(subject: found.subject, tenant: found.tenant, name: found.name))
  }
}
