import CommandSupport

/// `lanyard setup TOOL --undo`
struct SetupUndo {
  let tool: SetupTool
  let url: String?
  let name: String?
  let scope: SetupScope?
  let project: String?
  /// Only what `--skill` wrote.
  let isSkill: Bool
  let common: CommonOptions

  func run() throws(CommandFailure) {
    try SetupRecord.locked { () throws(CommandFailure) in try takeBack() }
  }

  private func takeBack() throws(CommandFailure) {
    var record = try SetupRecord()
    let chosen = record.entries.filter(isMeant)
    let others = record.entries.filter { !chosen.contains($0) }
    guard !chosen.isEmpty else {
      if common.json { return SetupCommand.answer([], "removed") }
      return Output.done("Lanyard wrote nothing for \(tool.rawValue)\(url.map { " and \($0)" } ?? "").")
    }
    var written: [any SetupChange] = []
    var kept: [SetupRecord.Entry] = []
    for entry in chosen {
      let all = try changes(of: entry)
      var left = entry
      left.changes = entry.changes.filter { identity in !all.contains { $0.identity == identity } }
      for change in all where entry.changes.contains(change.identity) {
        // What another entry shares stays.
        guard !others.contains(where: { $0.changes.contains(change.identity) }) else { continue }
        switch try change.state() {
        case .present: if !written.contains(where: { $0.identity == change.identity }) { written.append(change) }
        // The person removed it.
        case .absent: break
        case .taken: left.changes.append(change.identity)
        }
      }
      if !left.changes.isEmpty { kept.append(left) }
    }
    // Nothing is lost that `lanyard setup` could not write again, so no person is asked.
    if !common.json, !Output.isQuiet { SetupCommand.show(written) }
    for change in written.reversed() { try change.undo(notingIn: &record) }
    record.entries = others + kept
    record.forgetEdits()
    try record.write()
    guard kept.isEmpty else {
      throw CommandFailure(
        .other, name: "notTakenBack",
        "Some lines were changed since Lanyard wrote them, or are elsewhere in this environment. They were not removed.",
        hints: kept.flatMap(\.changes).map { "Remove by hand: \($0.split(separator: "\n").joined(separator: "; "))" })
    }
    if common.json { return SetupCommand.answer(written, "removed") }
    Output.done("Undone. \(tool.rawValue) no longer asks Lanyard\(url.map { " for \($0)" } ?? "").")
  }

  private func isMeant(_ entry: SetupRecord.Entry) -> Bool {
    entry.tool == tool.rawValue && (url == nil || entry.url == url) && (name == nil || entry.name == name)
      && (scope == nil || entry.project == project) && (!isSkill || entry.skill != nil)
  }

  /// The changes of an entry, as they would be written now.
  private func changes(of entry: SetupRecord.Entry) throws(CommandFailure) -> [any SetupChange] {
    var all: [any SetupChange]
    do throws(CommandFailure) {
      all = try tool.changes(for: entry.target)
    } catch {
      // Without its helper or its program nothing can be told of it.
      all = []
    }
    if let url = entry.url, let account = entry.accountID {
      let label = entry.account ?? account
      all.insert(RuleChange(pattern: url, account: account, label: label, mayStart: !common.noStart), at: 0)
    }
    return all
  }
}
