package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import Synchronization

/// The key sets that were read last, in memory, so that an ID token of a refresh is verified without a request
/// (docs/tokens.md, ID tokens).
package final class KeySets: Sendable {
  /// More providers than a person has. What is forgotten costs one request.
  private static let most = 64

  private struct Entry {
    var issuer: String
    var keys: JWKSet
  }

  private let entries = Mutex<[ProviderName: Entry]>([:])

  package init() {}

  /// The keys that signed for this issuer, as they were read last; nil if they never were.
  package func keys(of provider: ProviderName, issuer: String) -> JWKSet? {
    entries.withLock { entries in entries[provider].flatMap { $0.issuer == issuer ? $0.keys : nil } }
  }

  func keep(_ keys: JWKSet, of provider: Provider) {
    let (name, issuer) = (provider.configuration.name, provider.configuration.issuer)
    entries.withLock { entries in
      if entries[name] == nil, entries.count >= Self.most { entries.removeAll() }
      entries[name] = Entry(issuer: issuer, keys: keys)
    }
  }
}

extension ProviderDocuments {
  /// Reads the key set anew. Nil if the provider has no address for one.
  package func readKeys(into sets: KeySets?) async throws(DocumentFailure) -> JWKSet? {
    guard let url = client.provider.endpoints.jwks else { return nil }
    let keys = try await read(url) { node in try? JWKSet(parsing: node.raw) }
    sets?.keep(keys, of: client.provider)
    return keys
  }
}

extension JWKSet {
  /// True if one of the keys signed the token.
  ///
  /// - Throws: `IDTokenFailure.keyNotFound` if none can have.
  package func hasSigned(_ token: CompactJWT, by signatures: any SignatureVerifier) throws(IDTokenFailure) -> Bool {
    try candidates(for: token).contains {
      signatures.isValid(token.signature, over: token.signedBytes, by: $0, algorithm: token.algorithm)
    }
  }
}
