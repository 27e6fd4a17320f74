public import AgentPorts
internal import SQLiteStore
internal import StorageFaults

extension SimulatedWorld {
  /// Lends the store's rows while no agent runs, to damage, move and restore sealed records.
  public func tamper<Result>(_ body: (any Store) throws -> Result) throws -> Result {
    precondition(!isRunning, "the agent owns its store")
    disk.revive()
    let store = try SQLiteStore(path: "store", vfs: disk.vfsName)
    defer { store.close() }
    return try body(store)
  }
}
