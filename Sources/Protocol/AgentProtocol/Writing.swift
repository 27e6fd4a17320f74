internal import AgentModel
internal import JSONRPC
internal import Secrets

/// Writers for values of results, used by the generated code.
extension JSONWriter {
  mutating func secret(_ secret: Secret) { secret.withBytes { string(utf8: $0) } }

  mutating func timestamp(_ instant: Timestamp) { string(instant.rfc3339) }

  mutating func list<Item>(_ items: [Item], _ write: (Item, inout JSONWriter) -> Void) {
    beginArray()
    for item in items { write(item, &self) }
    endArray()
  }

  // In line: each entry would else be copied by way of its metadata.
  @inline(__always)
  mutating func map<Value>(_ map: WireMap<Value>, _ write: (Value, inout JSONWriter) -> Void) {
    beginObject()
    for entry in map.entries {
      key(entry.name)
      write(entry.value, &self)
    }
    endObject()
  }
}

extension RawJSON: WireWritable {}
