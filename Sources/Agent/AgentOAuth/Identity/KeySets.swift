package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
package import Secrets
internal import Synchronization

/// The keys of an issuer as they were read, and the algorithms that its metadata listed then.
package struct IssuerKeys: Sendable {
  package var set: JWKSet
  /// Empty if the metadata lists none.
  package var algorithms: [String]
  package var readAt: BootInstant

  package init(set: JWKSet, algorithms: [String], readAt: BootInstant) {
    self.set = set
    self.algorithms = algorithms
    self.readAt = readAt
  }

  /// True if one of the keys signed the token.
  ///
  /// - Throws: `IDTokenFailure.keyNotFound` or `.algorithmNotAllowed` if none can have.
  package func haveSigned(_ token: CompactJWT, by signatures: any SignatureVerifier) throws(IDTokenFailure) -> Bool {
    try set.candidates(for: token, announced: algorithms).contains {
      signatures.isValid(token.signature, over: token.signedBytes, by: $0, algorithm: token.algorithm)
    }
  }
}

/// The key sets that were read last, in memory, so that an ID token of a refresh is verified without a request
/// (docs/identity.md, ID tokens).
package final class KeySets: Sendable {
  /// A provider takes back a key without a word to its clients, so that keys count for so long. Then they are read
  /// again before an ID token is given out.
  package static let lifetime = Milliseconds.seconds(900)
  /// More providers than a person has. What is forgotten costs one request.
  private static let most = 64

  private struct Entry {
    var issuer: String
    var keys: IssuerKeys
  }

  /// Where a key set comes from, and how it is asked for.
  fileprivate struct Source: Hashable {
    var configuration: ProviderConfiguration
    var url: String
  }
  /// Nil for a caller that has to read by itself, since the one that read for it failed.
  fileprivate typealias Reading = GroupedWork<ProviderDocuments, Result<IssuerKeys, DocumentFailure>?>

  private let entries = Mutex<[ProviderName: Entry]>([:])
  private let readings = Mutex<[Source: Reading]>([:])

  package init() {}

  /// The keys that signed for this issuer, as they were read last; nil if they never were.
  package func keys(of provider: ProviderName, issuer: String) -> IssuerKeys? {
    entries.withLock { entries in
      entries[provider].flatMap { equalCodePoints($0.issuer, issuer) ? $0.keys : nil }
    }
  }

  package func keep(_ keys: IssuerKeys, of provider: Provider) {
    let (name, issuer) = (provider.configuration.name, provider.configuration.issuer)
    entries.withLock { entries in
      // A slow request, or one for the metadata, may end after newer keys were read.
      if let known = entries[name], equalCodePoints(known.issuer, issuer), keys.readAt < known.keys.readAt { return }
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
        let others = if case .success = result { result } else { nil as Result<IssuerKeys, DocumentFailure>? }
        return [result] + callers.dropFirst().map { _ in others }
      }
      readings[source] = reading
      return reading
    }
  }
}

extension ProviderDocuments {
  /// A person waits, or a program that wants an ID token.
  private static let keysTimeout = Milliseconds.seconds(10)

  /// Reads the key set anew. Nil if the provider has no address for one.
  package func readKeys(into sets: KeySets?) async throws(DocumentFailure) -> IssuerKeys? {
    guard let url = client.provider.endpoints.jwks else { return nil }
    guard let sets else { return try await keys(at: url).get() }
    let source = KeySets.Source(configuration: client.provider.configuration, url: url)
    let shared = await sets.reading(of: source)(self)
    let keys = if let shared { try shared.get() } else { try await keys(at: url).get() }
    sets.keep(keys, of: client.provider)
    return keys
  }

  /// The same keys. Where one of the tokens has an algorithm that the provider's metadata does not list, the metadata is
  /// read again: the provider may sign otherwise since.
  package func withAlgorithms(of tokens: [Secret], _ keys: IssuerKeys, into sets: KeySets?) async -> IssuerKeys {
    let isUnlisted = tokens.contains { token in
      do throws(IDTokenFailure) {
        let parsed = try token.withBytes { (bytes) throws(IDTokenFailure) in try CompactJWT(parsing: bytes) }
        _ = try keys.set.candidates(for: parsed, announced: keys.algorithms)
        return false
      } catch {
        return error == .algorithmNotAllowed && !keys.algorithms.isEmpty
      }
    }
    guard isUnlisted, let metadata = try? await discover() else { return keys }
    var keys = keys
    keys.algorithms = metadata.idTokenAlgorithms
    sets?.keep(keys, of: client.provider)
    return keys
  }

  fileprivate func keys(at url: String) async -> Result<IssuerKeys, DocumentFailure> {
    let readAt = client.clock.boot()
    do throws(DocumentFailure) {
      let keys = try await read(url, timeout: Self.keysTimeout) { node in try? JWKSet(parsing: node.raw) }
      return .success(
        IssuerKeys(set: keys, algorithms: client.provider.metadata?.idTokenAlgorithms ?? [], readAt: readAt))
    } catch {
      return .failure(error)
    }
  }
}
