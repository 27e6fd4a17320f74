internal import AgentModel

/// The native protocol of systemd-journald: one datagram an entry, fields with names of their own
/// (systemd.io/JOURNAL_NATIVE_PROTOCOL).
public enum JournalFormat {
  /// journald refuses longer names.
  static let longestName = 64

  /// The datagram of a record.
  public static func datagram(_ record: ExportRecord) -> [UInt8] {
    var bytes: [UInt8] = []
    append("MESSAGE", record.message, to: &bytes)
    append("PRIORITY", String(record.severity.rawValue), to: &bytes)
    append("SYSLOG_IDENTIFIER", "lanyard", to: &bytes)
    append("SYSLOG_FACILITY", String(SyslogFormat.facility), to: &bytes)
    append("LANYARD_EVENT", record.event, to: &bytes)
    append("LANYARD_AT", record.at.rfc3339, to: &bytes)
    for field in record.fields { append("LANYARD_" + name(field.name), field.value.text, to: &bytes) }
    for fact in record.facts { append("LANYARD_FACT_" + name(fact.name), fact.value.text, to: &bytes) }
    return bytes
  }

  /// Letters, digits and `_` in capitals are all that journald takes.
  private static func name(_ name: String) -> String { ExportRecord.snakeCase(name).uppercased() }

  private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: name.utf8.prefix(longestName))
    let value = Array(value.utf8)
    if value.contains(0x0A) {
      // A value with a newline has its length before it, so that no client's name can begin a field of its own.
      bytes.append(0x0A)
      withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes.append(contentsOf: $0) }
    } else {
      bytes.append(UInt8(ascii: "="))
    }
    bytes.append(contentsOf: value)
    bytes.append(0x0A)
  }
}
