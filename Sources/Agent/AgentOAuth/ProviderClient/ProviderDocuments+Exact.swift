internal import AgentModel

/// The metadata of an issuer as MCP 2026-07-28 has clients read it (docs/providers.md, Plain OAuth servers).
extension ProviderDocuments {
  /// The first document that there is, in the order of RFC 8414 §3.1 and §5. Nothing is joined: each document stands for
  /// the whole server. An error of the server, or a server that can't be reached, ends the search, since the document
  /// that counts may be the one that was not read.
  func discoverExactly() async throws(DocumentFailure) -> ServerMetadata {
    var failure = DocumentFailure.malformed
    for document in Self.exactPlaces(of: client.provider.configuration.issuer) {
      let metadata: ServerMetadata
      do {
        metadata = try await read(document) { ServerMetadata($0) }
      } catch {
        guard !error.isInconclusive else { throw error }
        failure = error
        continue
      }
      // RFC 8414 §3.3: one with another issuer must not be used, nor hide behind a later one.
      guard client.provider.isItself(metadata.issuer) else { throw .issuerMismatch }
      return metadata
    }
    throw failure
  }

  /// Path insertion of RFC 8414, path insertion of OpenID Connect, path appending of OpenID Connect Discovery §4. Without
  /// a path the last two are the same.
  package static func exactPlaces(of issuer: String) -> [String] {
    guard let url = HTTPURL(issuer) else { return [] }
    let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
    var places = [
      url.origin + "/.well-known/oauth-authorization-server" + path,
      url.origin + "/.well-known/openid-configuration" + path,
    ]
    if !path.isEmpty { places.append(url.origin + path + "/.well-known/openid-configuration") }
    return places
  }
}
