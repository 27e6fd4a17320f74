import AgentModel
import AuditExport
import JSONRPC

extension ExportEntry {
  /// An entry as the agent writes it.
  init?(_ json: String) {
    var json = json
    let entry = json.withUTF8 { bytes -> ExportEntry? in
      let bytes = UnsafeRawBufferPointer(bytes)
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { ExportEntry($0) }
    }
    guard let entry else { return nil }
    self = entry
  }

  static func numbered(_ sequence: Int64, at milliseconds: Int64 = 0) -> ExportEntry {
    ExportEntry(
      sequence: sequence, at: Timestamp(milliseconds: milliseconds), event: "authorization.check", outcome: "allow")
  }
}

extension Disclosure {
  static func plain(names: Bool) -> Disclosure { Disclosure(names: names, agent: "agt_1") { "nam_\($0.utf8.count)" } }
}
