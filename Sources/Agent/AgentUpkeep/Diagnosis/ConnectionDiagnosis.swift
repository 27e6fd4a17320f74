internal import AgentModel

/// The connections of the process that has the most.
package struct HeldConnections: Sendable {
  var process: Int32
  /// For display only: a program chooses its name.
  var name: String?
  var count: Int
  /// The most that one process may have.
  var limit: Int

  package init(process: Int32, name: String?, count: Int, limit: Int) {
    self.process = process
    self.name = name
    self.count = count
    self.limit = limit
  }

  /// A finding if fewer than a tenth of the places are left, for all or for one process; it names the holder.
  package func findings(among open: Int, of limit: Int) -> [Finding] {
    let isNearlyFull = open >= limit * 9 / 10
    guard isNearlyFull || count >= self.limit * 9 / 10 else { return [] }
    let name = name.map { " (\($0))" } ?? ""
    return [
      Finding(
        check: "connections", severity: isNearlyFull ? .problem : .notice, subject: String(process),
        message: "\(open) of \(limit) connections are open. Process \(process)\(name) holds \(count) of them.",
        remedies: [
          "End that program, or have it close the connections that it does not use.",
          "`limits.connections` in the agent's configuration file allows more.",
        ])
    ]
  }
}
