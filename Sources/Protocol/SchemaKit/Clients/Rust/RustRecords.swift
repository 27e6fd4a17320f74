/// Types, params and the data of events, as tables that the client's macros read.
extension RustRenderer {
  /// What the agent sends. What it takes is in `params`.
  var types: SourceText {
    var source = file
    writeTable("records!", contract.records.filter { !$0.isClosed }, &source)
    return source
  }

  var params: SourceText {
    var source = file
    let params = contract.operations.compactMap(\.params)
    writeTable("inputs!", params + contract.records.filter(\.isClosed), &source)
    return source
  }

  var events: SourceText {
    var source = file
    source.block("events!") { source in
      for (index, event) in contract.events.enumerated() {
        if index > 0 { source.line() }
        source.doc(documentation.of(event.kind.summary))
        let head = "\"\(event.kind.name)\" \(event.kind.name.rustVariant)(\(event.data.name))"
        write(event.data, head, &source)
      }
    }
    return source
  }

  private var file: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.line("use serde_json::Value;")
    source.line()
    source.line("use super::*;")
    source.line("use crate::{Secret, Timestamp};")
    source.line()
    return source
  }

  private func writeTable(_ macro: String, _ records: [ClientContract.Record], _ source: inout SourceText) {
    source.block(macro) { source in
      for (index, record) in records.enumerated() {
        if index > 0 { source.line() }
        source.doc(documentation.of(record.documentation.isEmpty ? record.name : record.documentation))
        write(record, record.name, &source)
      }
    }
  }

  private func write(_ record: ClientContract.Record, _ head: String, _ source: inout SourceText) {
    precondition(!record.members.contains { $0.name.rustName == "extra" }, "\(record.name) has the client's own member")
    let required = record.members.filter(\.isRequired)
    let optional = record.members.filter { !$0.isRequired }
    if required.isEmpty && optional.isEmpty { return source.line("\(head) {}") }
    if required.isEmpty {
      source.line("\(head) {} optional {")
    } else {
      source.line("\(head) {")
      source.indented { source in write(required, &source) }
      if !optional.isEmpty { source.line("} optional {") }
    }
    source.indented { source in write(optional, &source) }
    source.line("}")
  }

  private func write(_ members: [ClientContract.Member], _ source: inout SourceText) {
    for member in members {
      if let doc = documentation.of(member) { source.doc(doc) }
      let name = member.name.rustName
      let wire = name == member.name ? "" : " = \"\(member.name)\""
      source.line("\(name)\(wire): \(type(member.schema)),")
    }
  }

  private func type(_ schema: Schema) -> String {
    switch contract.contract.resolved(schema).kind {
    case .array(let shape): return "[\(type(shape.items))]"
    case .map(let shape): return shape.values.map { "{ \(type($0)) }" } ?? "{}"
    case .integer(let range): return range.lowerBound >= 0 ? "u64" : "i64"
    default: return name(contract.type(schema))
    }
  }

  private func name(_ type: ClientType) -> String {
    switch type {
    case .record(let name), .enumeration(let name): name
    case .text: "String"
    case .secret: "Secret"
    case .instant: "Timestamp"
    case .boolean: "bool"
    case .list, .map, .integer, .anything: "Value"
    }
  }
}
