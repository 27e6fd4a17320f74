internal import AgentServing
internal import AgentServing
internal import AgentPorts
internal import FileRules
internal import Glibc
internal import KeyProviders
internal import SQLiteStore
internal import SystemAdapters
internal import UnixTransport

/// `--check`: examines the store without changing it.
extension LanyardAgent {
  static func check(_ options: Options, _ confined: Confined) -> Never {
    let path = options.stateDirectory + "/lanyard.sqlite"
    var status = stat()
    let isKnown = place(options)?.isKnown == true
    if lstat(path, &status) != 0, errno == ENOENT {
      guard isKnown else { tell((AgentServer.nothingToCheck, isOpen: true)) }
      tell((AgentServer.check(of: StoreFailure.missing), isOpen: false))
    }
    let state = directory(options.stateDirectory)
    let lock = takeLock(StateHolder.lock(in: state.path), servingAt: nil)
    let files = StoreBackups(beside: path)
    files.removeAll()
    let found = check(options, state, files, confined, isKnown: isKnown)
    files.removeAll()
    withExtendedLifetime(lock) {}
    tell(found)
  }

  /// Checks a copy of the store, because opening a vault writes at least the time.
  private static func check(
    _ options: Options, _ state: PrivateDirectory, _ files: StoreBackups, _ confined: Confined, isKnown: Bool
  ) -> (line: [UInt8], isOpen: Bool) {
    do throws(StoreFailure) {
      let store = try SQLiteStore(path: state.path + "/lanyard.sqlite", mayCreate: !isKnown)
      defer { store.close() }
      try store.snapshot(to: files.copyPath)
      return look(try SQLiteStore(path: files.copyPath), options, state, confined)
    } catch {
      return (AgentServer.check(of: error), isOpen: false)
    }
  }

  private static func look(
    _ copy: sending SQLiteStore, _ options: Options, _ state: PrivateDirectory, _ confined: Confined
  ) -> (line: [UInt8], isOpen: Bool) {
    let pool = WorkerPool()
    let keys = keySources(options, state)
    // Prefer the protection of the options; else use one that the store has a key slot for.
    let protections = ((try? copy.keySlots()) ?? []).map(\.protection)
    let protection =
      protections.contains(options.protection)
      ? options.protection : keys.first { protections.contains($0.protection) }?.protection ?? options.protection
    let agent = AgentServer(
      store: copy, keySource: keys.first { $0.protection == protection },
      otherKeySources: keys.filter { $0.protection != protection },
      anchor: ReadOnlyAnchor(anchors: anchors(options, pool)),
      environment: environment(
        options, state, SystemClock(), pool, StandardErrorLog(least: options.logLevel), confined),
      version: version)
    let (done, found) = (Semaphore(), Box<(line: [UInt8], isOpen: Bool)>())
    Task.detached(executorPreference: pool) {
      found.value = await agent.check(protection: protection)
      done.signal()
    }
    done.wait()
    return found.value ?? ([], isOpen: false)
  }

  private static func tell(_ found: (line: [UInt8], isOpen: Bool)) -> Never {
    end(
      found.isOpen ? .done : .vaultClosed, says: String(decoding: found.line, as: UTF8.self), to: STDOUT_FILENO)
  }
}

/// Reads the rollback anchors and never advances them: the check writes to a copy of the store only.
private struct ReadOnlyAnchor: RollbackAnchor {
  let anchors: Anchors

  func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    try anchors.sequence(databaseID: databaseID)
  }

  func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool { true }

  func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    try anchors.rootPrints(databaseID: databaseID)
  }

  func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {}

  /// An agent that was killed may have left its anchors one behind, and a new machine has none yet.
  func holds(_ sequence: UInt64, databaseID: [UInt8]) -> Bool {
    guard (try? anchors.sequence(databaseID: databaseID)) != nil else { return true }
    return anchors.holds(max(1, sequence) - 1, databaseID: databaseID)
  }

  func databaseHere() throws(KeySourceFailure) -> [UInt8]? { try anchors.databaseHere() }

  func slotsChanged(to protections: Set<String>) { anchors.slotsChanged(to: protections) }
}
