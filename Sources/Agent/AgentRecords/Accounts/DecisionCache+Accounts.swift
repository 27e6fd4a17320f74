package import AgentModel
package import AgentStore

extension PublishedTables {
  package var decisions: DecisionCache { self[DecisionCache.self] }
}

extension DecisionCache: AccountWatcher {
  package func accountChanged(_ id: AccountID) { withdraw(id) }

  package func close() { withdrawAll() }
}
