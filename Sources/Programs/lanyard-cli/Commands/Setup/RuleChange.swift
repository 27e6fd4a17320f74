import CommandSupport
import JSONRPC

/// The rule that lets an account answer for a tool's server.
struct RuleChange: SetupChange {
  let pattern: String
  /// Its id: the person may name it anew.
  let account: String
  let label: String
  let mayStart: Bool

  var place: String { "lanyard rule" }
  var lines: [String] { ["\(pattern): \(label)"] }

  var identity: String { "\(place): \(pattern) \(account)" }

  func state() throws(CommandFailure) -> SetupState { try id() == nil ? .absent : .present }

  func apply(notingIn record: inout SetupRecord) throws(CommandFailure) {
    try record.write()
    var agent = try Agent.connect(mayStart: mayStart)
    try agent.perform("rule.add") { writer in
      writer.member("pattern", pattern)
      writer.member("account", account)
    }
  }

  func undo(notingIn record: inout SetupRecord) throws(CommandFailure) {
    guard let id = try id() else { return }
    var agent = try Agent.connect(mayStart: mayStart)
    try agent.perform("rule.remove") { $0.member("rule", id) }
  }

  /// The agent keeps patterns in their normal form, so the rule is found by the choice that it makes.
  private func id() throws(CommandFailure) -> String? {
    var agent = try Agent.connect(mayStart: mayStart)
    let rules = try agent.call("rule.list") { result in
      (result["rules"].map { Array($0.elements) } ?? []).compactMap { rule in
        rule["account"]?.string == account
          ? (rule["pattern"]?.string ?? "", rule["rule"]?.string ?? "") : nil
      }
    }
    return rules.first { Self.isSame($0.0, pattern) }?.1
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    func normal(_ text: String) -> String {
      let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count >= 3 else { return text }
      var host = parts[2].lowercased()
      if host.hasSuffix(":443") { host.removeLast(4) }
      let path = parts.count == 4 ? String(parts[3]) : "*"
      return "\(parts[0].lowercased())//\(host)/\(path.isEmpty ? "*" : path)"
    }
    return normal(one) == normal(other)
  }
}
