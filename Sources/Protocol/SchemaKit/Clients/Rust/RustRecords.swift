/// Types, params and the data of events.
extension RustRenderer {
  var types: SourceText {
    var source = file
    for record in contract.records { write(record, isInput: record.isClosed, &source) }
    return source
  }

  var params: SourceText {
    var source = file
    for record in contract.operations.compactMap(\.params) { write(record, isInput: true, &source) }
    return source
  }

  var events: SourceText {
    var source = file
    source.line()
    source.doc("The `data` of an event, by the event's type.")
    source.line("#[derive(Clone, Debug, PartialEq)]")
    source.line("#[non_exhaustive]")
    source.block("pub enum EventData") { source in
      for event in contract.events {
        source.doc(documentation.of(event.kind.summary))
        source.line("\(event.kind.name.rustVariant)(\(event.data.name)),")
      }
      source.doc("The data of an event that this version does not know.")
      source.line("Unrecognized(Map<String, Value>),")
    }
    source.line()
    source.block("impl EventData") { source in
      let head = "pub(crate) fn read(event: &EventType, data: &Map<String, Value>) -> Result<Self, Malformed>"
      source.block(head) { source in
        source.line("let text = data.to_json();")
        source.line("Ok(match event {")
        source.indented { source in
          for event in contract.events {
            let name = event.kind.name.rustVariant
            source.line("EventType::\(name) => EventData::\(name)(\(event.data.name)::from_json(&text)?),")
          }
          source.line("EventType::Unrecognized(_) => EventData::Unrecognized(data.clone()),")
        }
        source.line("})")
      }
    }
    for event in contract.events { write(event.data, isInput: false, &source) }
    return source
  }

  private var file: SourceText {
    var source = SourceText(rust: ())
    source.head("")
    source.line("use std::collections::BTreeMap;")
    source.line()
    source.line("use serde_json::{Map, Value};")
    source.line()
    source.line("use super::*;")
    source.line("use crate::json::{read_extra, read_member, required, Extra, Json, Malformed, Reader, Writer};")
    source.line("use crate::{Secret, Timestamp};")
    return source
  }

  private func write(_ record: ClientContract.Record, isInput: Bool, _ source: inout SourceText) {
    let names = record.members.map(\.name.rustName)
    precondition(Set(names).isDisjoint(with: ["extra", "input", "member"]), "\(record.name) has a name of the reader")
    let hasDefault = record.members.allSatisfy { !$0.isRequired }
    source.line()
    source.doc(documentation.of(record.documentation.isEmpty ? record.name : record.documentation))
    source.line("#[derive(Clone, Debug, \(hasDefault ? "Default, " : "")PartialEq)]")
    source.line("#[non_exhaustive]")
    source.block("pub struct \(record.name)") { source in
      for member in record.members {
        if let doc = documentation.of(member) { source.doc(doc) } else { source.doc("The member `\(member.name)`.") }
        source.line("pub \(member.name.rustName): \(stored(member)),")
      }
      source.doc("Members that this version does not know.")
      source.line("pub extra: Extra,")
    }
    if isInput { writeBuilder(of: record, &source) }
    writeJSON(of: record, &source)
  }

  /// `new` with what is required, and a setter for each optional member.
  private func writeBuilder(of record: ClientContract.Record, _ source: inout SourceText) {
    let required = record.members.filter(\.isRequired)
    source.line()
    source.block("impl \(record.name)") { source in
      source.doc(required.isEmpty ? "Nothing is required." : "With all that is required.")
      let arguments = required.map { "\($0.name.rustName): \(argument($0.schema))" }.joined(separator: ", ")
      if required.isEmpty { source.line("#[must_use]") }
      source.block("pub fn new(\(arguments)) -> Self") { source in
        source.block(record.name) { source in
          for member in record.members {
            let name = member.name.rustName
            let value = member.isRequired ? converted(name, member.schema) : "None"
            source.line(value == name ? "\(name)," : "\(name): \(value),")
          }
          source.line("extra: Extra::default(),")
        }
      }
      for member in record.members where !member.isRequired {
        let name = member.name.rustName
        source.line()
        if let doc = documentation.of(member) { source.doc(doc) } else { source.doc("Sets `\(member.name)`.") }
        source.line("#[must_use]")
        source.block("pub fn \(name)(mut self, \(name): \(argument(member.schema))) -> Self") { source in
          source.line("self.\(name) = Some(\(converted(name, member.schema)));")
          source.line("self")
        }
      }
    }
    guard let only = required.first, required.count == 1, only.type == .text else { return }
    for text in ["&str", "String"] {
      source.line()
      source.block("impl From<\(text)> for \(record.name)") { source in
        let name = only.name.rustName
        source.block("fn from(\(name): \(text)) -> Self") { $0.line("\(record.name)::new(\(name))") }
      }
    }
  }

  private func writeJSON(of record: ClientContract.Record, _ source: inout SourceText) {
    source.line()
    source.block("impl Json for \(record.name)") { source in
      source.block("fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>") { source in
        for member in record.members { source.line("let mut \(member.name.rustName) = None;") }
        source.line("let mut extra = Extra::default();")
        if record.members.isEmpty {
          source.line("reader.object(&mut |input, member| read_extra(input, member, &mut extra))?;")
        } else {
          source.line("reader.object(&mut |input, member| match member {")
          source.indented { source in
            for member in record.members {
              source.line("\"\(member.name)\" => read_member(input, member, &mut \(member.name.rustName)),")
            }
            source.line("_ => read_extra(input, member, &mut extra),")
          }
          source.line("})?;")
        }
        source.line("Ok(\(record.name) {")
        source.indented { source in
          for member in record.members {
            let name = member.name.rustName
            source.line(member.isRequired ? "\(name): required(\(name), \"\(member.name)\")?," : "\(name),")
          }
          source.line("extra,")
        }
        source.line("})")
      }
      source.line()
      source.block("fn write(&self, writer: &mut Writer)") { source in
        source.line("let mut object = writer.object();")
        for member in record.members {
          let call = member.isRequired ? "member" : "optional"
          source.line("object.\(call)(\"\(member.name)\", &self.\(member.name.rustName));")
        }
        source.line("object.extra(&self.extra);")
        source.line("object.end();")
      }
    }
  }

  private func stored(_ member: ClientContract.Member) -> String {
    let type = type(member.schema)
    return member.isRequired ? type : "Option<\(type)>"
  }

  private func type(_ schema: Schema) -> String {
    switch contract.contract.resolved(schema).kind {
    case .array(let shape): return "Vec<\(type(shape.items))>"
    case .map(let shape): return shape.values.map { "BTreeMap<String, \(type($0))>" } ?? "Map<String, Value>"
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

  /// What a caller may give for a value.
  private func argument(_ schema: Schema) -> String {
    switch contract.contract.resolved(schema).kind {
    case .array(let shape): return "impl IntoIterator<Item = impl Into<\(type(shape.items))>>"
    case .map, .integer, .boolean: return type(schema)
    default: return "impl Into<\(type(schema))>"
    }
  }

  private func converted(_ name: String, _ schema: Schema) -> String {
    switch contract.contract.resolved(schema).kind {
    case .array: return "\(name).into_iter().map(Into::into).collect()"
    case .map, .integer, .boolean: return name
    default: return "\(name).into()"
    }
  }
}
