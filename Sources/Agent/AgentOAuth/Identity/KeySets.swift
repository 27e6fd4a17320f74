package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import Synchronization

/// The key sets that were read last, in memory, so that an ID token of a refresh is verified without a request
/// (docs/identity.md, ID tokens).
package final class KeySets: Sendable {
  /// More providers than a person has. What is forgotten costs one request.
  private static let most = 64

  private struct Entry {
    var issuer: String
    var keys: JWKSet
  }

  /// Where a key set comes from, and how it is asked for.
  fileprivate struct Source: Hashable {
    var configuration: ProviderConfiguration
    var url: String
  }
  /// Nil for a caller that has to read by itself, since the one that read for it failed.
  fileprivate typealias Reading = GroupedWork<ProviderDocuments, Result<JWKSet, DocumentFailure>?>

  private let entries = Mutex<[ProviderName: Entry]>([:])
  private let readings = Mutex<[Source: Reading]>([:])

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

  /// Sign-ins that come at the same moment share a request, which leaves after they came.
  fileprivate func reading(of source: Source) -> Reading {
    readings.withLock { readings in
      if let known = readings[source] { return known }
      if readings.count >= Self.most { readings.removeAll() }
      let reading = Reading { callers in
        let result = await callers[0].keys(at: source.url)
        let others = if case .success = result { result } else { nil as Result<JWKSet, DocumentFailure>? }
        return [result] + callers.dropFirst().map { _ in others }
      }
      readings[source] = reading
      return reading
    }
  }
}

extension ProviderDocuments {
  /// Reads the key set anew. Nil if the provider has no address for one.
  package func readKeys(into sets: KeySets?) async throws(DocumentFailure) -> JWKSet? {
    guard let url = client.provider.endpoints.jwks else { return nil }
    guard let sets else { return try await keys(at: url).get() }
    let source = KeySets.Source(configuration: client.provider.configuration, url: url)
    let shared = await sets.reading(of: source)(self)
    let keys = if let shared { try shared.get() } else { try await keys(at: url).get() }
    sets.keep(keys, of: client.provider)
    return keys
  }

  fileprivate func keys(at url: String) async -> Result<JWKSet, DocumentFailure> {
    do throws(DocumentFailure) {
      return .success(try await read(url) { node in try? JWKSet(parsing: node.raw) })
    } catch {
      return .failure(error)
    }
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
