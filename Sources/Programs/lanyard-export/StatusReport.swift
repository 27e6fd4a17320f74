internal import AgentModel
internal import AuditExport
internal import CommandSupport
internal import JSONRPC

/// `lanyard export --status`: how far each destination has come, from its files.
struct StatusReport {
  private struct Line {
    var name: String
    var isServed: Bool
    /// Nil for a destination that has exported nothing.
    var cursor: ExportCursor?
    var problem: String?
    /// Entries that are not exported, up to a page; nil if the agent does not tell.
    var waiting: Int?
    /// The cursor's file can't be used.
    var damage: String?
  }

  private let options: Options

  init(_ options: Options) { self.options = options }

  func print() throws(CommandFailure) {
    let lines = try lines()
    if options.json { return printJSON(lines) }
    if lines.isEmpty {
      Output.note("No destination: the audit log is not exported.")
    }
    for line in lines { Output.answer(text(line)) }
  }

  private func lines() throws(CommandFailure) -> [Line] {
    let directory = try ExportDirectory(creates: false)
    let reader = LogReader(mayStart: false)
    // Without an agent the files alone tell.
    let configured = ((try? reader.begin())?.destinations ?? []).map(\.name)
    var names = Set(directory.names + configured).sorted()
    if let wanted = options.name ?? options.destination { names.removeAll { $0 != wanted } }
    return names.map { name in
      var line = Line(name: name, isServed: directory.isServed(name), problem: directory.problem(name))
      do throws(CommandFailure) {
        line.cursor = try directory.cursor(name)
        line.waiting = try? reader.entries(after: line.cursor?.sequence ?? 0).count
      } catch {
        line.damage = error.message
      }
      return line
    }
  }

  private func text(_ line: Line) -> String {
    var lines = ["\(line.name): \(line.isServed ? "running" : "not running")"]
    if let damage = line.damage { lines.append("  \(damage)") }
    if let cursor = line.cursor {
      let log = cursor.log > 1 ? " of log \(cursor.log)" : ""
      lines.append("  exported    up to entry \(cursor.sequence)\(log), \(cursor.exported) in all")
      if let at = cursor.exportedAt { lines.append("  last        \(at)") }
      if cursor.dropped > 0 { lines.append("  dropped     \(cursor.dropped) that left the log before their turn") }
      if cursor.refused > 0 { lines.append("  refused     \(cursor.refused) by the collector") }
    } else if line.damage == nil {
      lines.append("  exported    nothing yet")
    }
    if let waiting = line.waiting {
      lines.append("  waiting     \(waiting == LogReader.page ? "\(waiting) or more" : String(waiting))")
    }
    if let problem = line.problem { lines.append("  problem     \(problem)") }
    return lines.map { Text.shown($0) }.joined(separator: "\n")
  }

  private func printJSON(_ lines: [Line]) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("destinations")
    writer.beginArray()
    for line in lines {
      writer.beginObject()
      writer.member("name", line.name)
      writer.key("running")
      writer.bool(line.isServed)
      if let cursor = line.cursor {
        writer.member("sequence", cursor.sequence)
        writer.member("log", cursor.log)
        writer.member("exported", cursor.exported)
        writer.member("dropped", cursor.dropped)
        writer.member("refused", cursor.refused)
        writer.member("exportedAt", cursor.exportedAt)
      }
      writer.member("waiting", line.waiting.map { Int64($0) })
      writer.member("problem", line.damage ?? line.problem)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}
