import CommandSupport

/// `lanyard setup TOOL --undo`
struct SetupUndo {
  let tool: SetupTool
  let url: String?
  let common: CommonOptions

  func run() throws(CommandFailure) {
    var record = try SetupRecord()
    let chosen = record.entries.filter { $0.tool == tool.rawValue && (url == nil || $0.url == url) }
    var written: [any SetupChange] = []
    for entry in chosen { written += try changes(of: entry) }
    guard !chosen.isEmpty else {
      if common.json { return SetupCommand.answer([], "removed") }
      return Output.answer("Lanyard wrote nothing for \(tool.rawValue)\(url.map { " and \($0)" } ?? "").")
    }
    // Nothing is lost that `lanyard setup` could not write again, so no person is asked.
    if !common.json { SetupCommand.show(written) }
    for change in written.reversed() { try change.undo() }
    record.entries.removeAll { chosen.contains($0) }
    try record.write()
    if common.json { return SetupCommand.answer(written, "removed") }
    Output.answer("Taken back. \(tool.rawValue) no longer asks Lanyard\(url.map { " for \($0)" } ?? "").")
  }

  /// The changes that were made, as far as they are still there. What another entry shares stays.
  private func changes(of entry: SetupRecord.Entry) throws(CommandFailure) -> [any SetupChange] {
    var all = try tool.changes(for: entry.target)
    if let url = entry.url, let name = entry.account, url.hasPrefix("https://") {
      var agent = try common.connect()
      if let account = try? AccountInfo.named(name, via: &agent) {
        all.append(RuleChange(pattern: url, account: account, mayStart: !common.noStart))
      }
    }
    var present: [any SetupChange] = []
    for change in all where entry.changes.contains(SetupRecord.name(of: change)) {
      if try change.state() == .present { present.append(change) }
    }
    return present
  }
}
