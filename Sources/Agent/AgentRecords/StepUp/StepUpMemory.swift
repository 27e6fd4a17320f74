package import AgentModel
package import AgentStore

extension PublishedTables {
  package var stepUps: StepUps { self[StepUps.self] }
}

extension StepUps: PublishedTable {
  package func close() { clearAll() }
}

extension MemoryChange {
  package static func stepUpEnded(_ id: AccountID) -> MemoryChange { MemoryChange { $0.tables.stepUps.clear(id) } }
}
