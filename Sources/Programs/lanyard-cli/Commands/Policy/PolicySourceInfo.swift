import JSONRPC

/// The source of an organisation's policies, as the agent tells it.
struct PolicySourceInfo {
  let url: String
  let version: Int64?
  let confirmedAt: Moment?
  let isTooOld: Bool
  let shadows: [String]
  /// Why the last fetch confirmed nothing; nil after a good one.
  let problem: String?
  let failedAt: Moment?

  init(_ node: JSONNode) {
    url = node["url"]?.string ?? ""
    version = node["version"]?.integer
    confirmedAt = node["confirmedAt"]?.string.flatMap { Moment($0) }
    isTooOld = node["tooOld"]?.bool ?? false
    shadows = node["shadows"].map { $0.elements.compactMap(\.string) } ?? []
    problem = node["lastFailure"]?["message"]?.string
    failedAt = node["lastFailure"]?["at"]?.string.flatMap { Moment($0) }
  }

  /// The bundle in force, for a person.
  var words: String {
    guard let version else {
      return isTooOld ? "no bundle yet, so every decision is denied" : "not known while the vault is locked"
    }
    let confirmed = confirmedAt.map { ", confirmed \($0.relative)" } ?? ""
    let trial = shadows.isEmpty ? "" : "; on trial: \(shadows.joined(separator: ", "))"
    return "version \(version)\(confirmed)\(isTooOld ? ": too old, so its decisions are denied" : "")\(trial)"
  }
}
