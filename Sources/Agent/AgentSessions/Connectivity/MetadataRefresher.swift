internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPorts
internal import AgentRecords
internal import AgentStore
internal import Secrets
internal import Synchronization

/// Reads the documents of providers again before they grow old.
///
/// Nothing waits for it: documents are read in the background, when a provider was asked something anyway and what is
/// known of it is old (`DocumentAge`), or when an endpoint turned out to be gone. No timer wakes the agent for it, and the
/// agent serves from what it knows for as long as it must.
final class MetadataRefresher: Sendable {
  /// Minimum interval between two discovery attempts, also after a failure: neither a server that is down nor one that
  /// answers 404 on purpose makes the agent ask without end.
  static let pause = Milliseconds.seconds(3600)

  private let vault: VaultActor
  private let background: BackgroundWork
  private let environment: AgentEnvironment
  private let time: TimeKeeper
  private let nextLooks = Mutex<[ProviderName: BootInstant]>([:])

  init(vault: VaultActor, background: BackgroundWork, environment: AgentEnvironment, time: TimeKeeper) {
    self.vault = vault
    self.background = background
    self.environment = environment
    self.time = time
  }

  /// The provider answered something, by this status. Cheap: to be told of every answer.
  func recordStatus(_ status: Int, of provider: Provider) {
    guard provider.metadata != nil else { return }  // all that is known was given by hand
    guard Self.isGone(status) || isOld(provider), mayLook(provider.configuration.name) else { return }
    background.start { await self.look(provider) }
  }

  private static func isGone(_ status: Int) -> Bool { status == 404 || status == 410 }

  private func isOld(_ provider: Provider) -> Bool {
    guard let readAt = provider.metadataReadAt else { return true }
    let age = time.now(for: provider.configuration.name) - readAt
    return DocumentAge.isDue(age: age, jitter: environment.entropy.fraction())
  }

  private func mayLook(_ name: ProviderName) -> Bool {
    let now = environment.clock.boot()
    return nextLooks.withLock { looks in
      if let next = looks[name], now < next { return false }
      looks[name] = now + Self.pause
      return true
    }
  }

  /// A document that names another issuer is refused, and half of the documents is no reason to forget the other half:
  /// what was known stays.
  private func look(_ provider: Provider) async {
    // An answer that came to a locked agent is no reason to ask: nothing could be remembered.
    guard await vault.isOpen else { return }
    let client = ProviderClient(provider: provider, dependencies: .init(environment, time: time))
    do throws(DocumentFailure) {
      let metadata = try await client.documents.discover(wholly: true)
      _ = try? await vault.commit { vault throws(AgentFailure) in
        try vault.providers.remember(metadata, of: provider.configuration, isUnasked: true)
      }
    } catch {
      environment.log.log(.notice, "metadata not refreshed", [(.reason, .name(error.word))])
    }
  }
}

extension DocumentFailure {
  /// For the log.
  fileprivate var word: String {
    switch self {
    case .offline: "offline"
    case .untrusted: "untrusted"
    case .unavailable: "unavailable"
    case .malformed: "malformed"
    case .page: "page"
    case .issuerMismatch: "issuerMismatch"
    case .redirected: "redirected"
    }
  }
}
