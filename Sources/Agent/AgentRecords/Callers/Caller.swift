/// The client of the current work.
package struct Caller: Sendable {
  /// The maximum length of `auditEntry.client`.
  static let longestName = 128

  @TaskLocal package static var current: Caller?

  /// The client's own name for itself, from `agent.hello`.
  var name: String?
  let access: CallerAccess
  /// The id of the client's process when it connected; nil without a socket.
  let process: Int32?

  package static var client: String? { current?.name }

  /// The narrowest grant of the caller; nil for one without a grant.
  package static var grant: String? {
    guard case .limited(let limits)? = current?.access else { return nil }
    return limits.grants.last
  }

  package init(name: String?, access: CallerAccess, process: Int32? = nil) {
    self.name = name
    self.access = access
    self.process = process
  }

  /// Whose quotas its entries take: those of its grants and of the grants that they were made under; without a grant,
  /// that of its name.
  var quotas: Set<String> {
    if case .limited(let grant) = access { return Set(grant.line.map { "grant \($0)" }) }
    return ["client \(name ?? "")"]
  }

  /// Which callers share the places for sign-ins in progress: as `quotas`, and those of one process, whatever it calls
  /// itself.
  package var signInQuotas: Set<String> { quotas.union(process.map { ["process \($0)"] } ?? []) }
}
