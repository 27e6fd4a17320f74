package import AgentCore
package import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
package import AgentStore

/// The issuer that a URL belongs to, and what it offers.
package struct FoundIssuer: Sendable {
  package let issuer: String
  /// Of another origin than the URL: whether it is meant is for the person to say.
  package let isElsewhere: Bool
  package let preset: ProviderPreset?
  package let endpoints: ServerMetadata.Endpoints
  /// Nil if the provider publishes no documents.
  package let metadata: ServerMetadata?
}

/// Looks for the issuer of a server (docs/providers.md, Finding the issuer). Nothing is kept.
package struct IssuerDiscovery: Sendable {
  private let setup: ProviderSetup
  private let search: IssuerSearch
  /// The URL if it is the issuer itself, and its documents are to be those of MCP; nil if the issuer is searched for.
  private let exactIssuer: String?
  private let caFile: String?
  private let proxy: String?

  /// Nothing is kept under it.
  private static let name = ProviderName("discovery")!

  package init(
    _ url: String, exactly isExact: Bool = false, caFile: String?, proxy: String?, of setup: ProviderSetup
  ) throws(AgentFailure) {
    guard let search = IssuerSearch(url) else {
      throw .invalidParameter("/url", expected: "an https URL; http only on a loopback host")
    }
    // RFC 8414 §2. `IssuerSearch` cuts fragments off.
    guard !isExact || search.url.query == nil && !url.contains("#") else {
      throw .invalidParameter("/url", expected: "an issuer, which has no query and no fragment")
    }
    exactIssuer = isExact ? url : nil
    (self.setup, self.search, self.caFile, self.proxy) = (setup, search, caFile, proxy)
  }

  /// The time for all documents together: a server may answer each one slowly.
  private static let longest = Milliseconds.seconds(30)

  package func run() async throws(AgentFailure) -> FoundIssuer {
    let clock = setup.environment.clock
    let found = try await withDeadline(at: clock.boot() + Self.longest, clock: clock) {
      [self] () async throws(AgentFailure) in try await find()
    }
    guard let found else { throw .provider(.document(.unavailable(status: 0))) }
    return found
  }

  private func find() async throws(AgentFailure) -> FoundIssuer {
    if let exactIssuer {
      let metadata = try await client(of: exactIssuer).documents.discoverOrExplain()
      return FoundIssuer(
        issuer: exactIssuer, isElsewhere: false, preset: nil, endpoints: metadata.endpoints, metadata: metadata)
    }
    if let preset = search.preset, !preset.hasDiscovery, let issuer = preset.issuer {
      return FoundIssuer(
        issuer: issuer, isElsewhere: false, preset: preset, endpoints: preset.endpoints(at: issuer), metadata: nil)
    }
    var elsewhere: String?
    var asked: Set<String> = []
    var failure = DocumentFailure.unavailable(status: 404)
    for place in search.places {
      for document in place.documents {
        if Task.isCancelled { throw .cancelled }
        guard let told = try await issuer(in: document, failure: &failure) else { continue }
        switch search.verdict(on: told, at: place) {
        case .itself(let issuer): return try await found(issuer)
        case .sameOrigin(let issuer):
          if asked.insert(issuer).inserted, let found = try? await found(issuer) { return found }
        case .elsewhere(let issuer): elsewhere = elsewhere ?? issuer
        case .none: break
        }
      }
    }
    if Task.isCancelled { throw .cancelled }
    if let elsewhere { return try await found(elsewhere, isElsewhere: true) }
    throw .provider(.document(failure))
  }

  /// Nil if there is no such document. A server that can't be reached, or not be trusted, ends the search.
  private func issuer(in document: String, failure: inout DocumentFailure) async throws(AgentFailure) -> String? {
    let documents = try client(of: search.url.origin).documents
    do throws(DocumentFailure) {
      return try await documents.issuer(in: document)
    } catch {
      if Task.isCancelled { throw .cancelled }
      switch error {
      // One that leaves a request without an answer would do so with each.
      case .offline, .untrusted, .unavailable(status: 0, _): throw .provider(.document(error))
      case .redirected, .page: failure = error
      case .unavailable, .malformed, .issuerMismatch: if error.isTemporary { failure = error }
      }
      return nil
    }
  }

  /// Reads the issuer's own documents, which must name just this issuer.
  private func found(_ issuer: String, isElsewhere: Bool = false) async throws(AgentFailure) -> FoundIssuer {
    let host = HTTPURL(issuer)?.host ?? ""
    let preset = search.preset ?? ProviderPreset.all.first { $0.isKnown(by: host) }
    let metadata = try await client(of: issuer, preset: preset).documents.discoverOrExplain()
    let endpoints = (preset?.endpoints(at: issuer) ?? .init()).completed(from: metadata.endpoints)
    return FoundIssuer(
      issuer: issuer, isElsewhere: isElsewhere, preset: preset, endpoints: endpoints, metadata: metadata)
  }

  private func client(of issuer: String, preset: ProviderPreset? = nil) throws(AgentFailure) -> ProviderClient {
    var configuration = ProviderConfiguration(name: Self.name, issuer: issuer, clientID: "")
    configuration.preset = preset?.name
    if exactIssuer != nil { configuration.identity = .resource }
    if let caFile, !caFile.hasPrefix("/") { throw .invalidParameter("/caFile", expected: "an absolute path") }
    if let proxy, !ProxyAddress.isValid(proxy) {
      throw .invalidParameter("/proxy", expected: "http, https, socks5 or socks5h, ://, a host and a port; or none")
    }
    (configuration.caFile, configuration.proxy) = (caFile, proxy)
    return setup.client(of: Provider(configuration: configuration))
  }
}
