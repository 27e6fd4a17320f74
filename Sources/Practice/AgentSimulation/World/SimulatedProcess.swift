internal import AgentPorts
internal import AgentServing
internal import AgentSessions
internal import SQLiteStore
internal import Secrets
internal import StorageFaults
internal import TokenSignatures

/// One process of the agent on the world's disk.
final class SimulatedProcess: Sendable {
  let server: AgentServer
  let life = ProcessLife()

  /// As a person may have it in the agent's configuration; used at providers that take one.
  private static let clientIDMetadataDocument = "https://pat.example/lanyard.json"

  init(number: UInt64, world: SimulatedWorld) throws {
    let (life, clock) = (life, ProcessClock(clock: world.clock, life: life))
    let sqlite = try SQLiteStore(path: "store", vfs: world.disk.vfsName)
    let store = ProcessStore(inner: sqlite, plan: world.commitPlan, life: life) { [unowned world] in
      world.diskHasKilled()
    }
    let environment = AgentEnvironment(
      clock: clock, entropy: SeededEntropy(seed: world.seed &* 31 &+ number),
      http: ProcessNetwork(network: world.network, life: life, executor: world.executor),
      signatures: OpenSSLSignatureVerifier(),
      keys: OpenSSLClientKeySigner(),
      redirects: world.browser, directories: world.directories, browser: world.browser,
      signals: ProcessSignals(signals: world.signals, process: number),
      backups: StoreBackups(beside: "store", vfs: world.disk.vfsName),
      configuration: StartConfiguration(clientIDMetadataDocument: Self.clientIDMetadataDocument), log: world.log)
    server = AgentServer(
      store: store, keySource: world.protection == "keyFile" ? world.keys : nil, anchor: world.anchor,
      environment: environment, version: "1.0.0-simulated", ownerGrant: world.ownerGrant.map { Secret(text: $0) },
      locking: world.locking, onShutDown: world.onShutDown)
    let (browser, server) = (world.browser, server)
    life.atEnd {
      browser.closeAll()
      // The tasks of the dead process end over dead ports.
      server.shutDown()
    }
  }

  func open(protection: String, acceptingOldStore: Bool = false) async throws {
    _ = try await server.open(protection: protection, acceptingOldStore: acceptingOldStore)
  }

  func run(on executor: SeededExecutor) {
    let (server, life) = (server, life)
    Task(executorPreference: executor) {
      await server.run()
      life.end()
    }
  }

  func end() { life.end() }
}
