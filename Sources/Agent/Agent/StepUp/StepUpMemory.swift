internal import AgentModel
internal import AgentStore

extension PublishedTables {
  var stepUps: StepUps { self[StepUps.self] }
}

extension StepUps: PublishedTable {
  package func close() { clearAll() }
}

extension MemoryChange {
  static func stepUpEnded(_ id: AccountID) -> MemoryChange { MemoryChange { $0.tables.stepUps.clear(id) } }
}
