internal import AgentModel

/// Messages of syslog (RFC 5424), for a local socket: one a datagram.
public enum SyslogFormat {
  /// `authpriv`: where Debian keeps what only administrators may read.
  public static let facility = 10
  /// Common daemons take 8 KiB (rsyslog's `$MaxMessageSize`); RFC 5424 §6.1 asks for 2 KiB at least.
  static let longestValue = 1024

  /// The message of a record.
  ///
  /// - Parameters:
  ///   - host: the name of this machine; nil for none, since it may name a person. The daemon knows it.
  ///   - process: the process id of the sender.
  public static func message(_ record: ExportRecord, host: String?, process: Int32) -> [UInt8] {
    var text = "<\(facility * 8 + record.severity.rawValue)>1 \(record.at.rfc3339) \(header(host, 255)) lanyard"
    text += " \(process) \(header(record.event, 32)) "
    text += element("lanyard", record.fields)
    if !record.facts.isEmpty { text += element("facts", record.facts) }
    text += " "
    var bytes = Array(text.utf8)
    let message = shortened(record.message)
    // RFC 5424 §6.4: a byte order mark says that the message is UTF-8.
    if !message.utf8.allSatisfy({ $0 < 0x80 }) { bytes += [0xEF, 0xBB, 0xBF] }
    bytes += message.utf8
    return bytes
  }

  /// An SD-ELEMENT. 32473 is the number that RFC 5612 reserves for those who have none.
  private static func element(_ id: String, _ fields: [ExportRecord.Field]) -> String {
    "[\(id)@32473" + fields.map { " \(name($0.name))=\"\(escaped($0.value.text))\"" }.joined() + "]"
  }

  /// A header field: printable ASCII without spaces; `-` for none.
  private static func header(_ text: String?, _ most: Int) -> String {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ (33...126).contains($0) }) else { return "-" }
    return String(text.prefix(most))
  }

  /// An SD-NAME (RFC 5424 §6.3.3). Another character becomes `_`.
  private static func name(_ text: String) -> String {
    let name = text.utf8.prefix(32).map { byte in
      (33...126).contains(byte) && !"=]\"".utf8.contains(byte) ? byte : UInt8(ascii: "_")
    }
    return name.isEmpty ? "_" : String(decoding: name, as: UTF8.self)
  }

  /// RFC 5424 §6.3.3: `"`, `\` and `]` are escaped.
  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in shortened(value).unicodeScalars {
      if scalar == "\"" || scalar == "\\" || scalar == "]" { text.append("\\") }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  /// Without control characters, which would break the lines of the daemon's file, and of a bounded length.
  private static func shortened(_ text: String) -> String {
    var (short, count) = (String.UnicodeScalarView(), 0)
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value & ~1 == 0x2028
      let shown: Unicode.Scalar = isControl ? "\u{FFFD}" : scalar
      count += UTF8.width(shown)
      guard count <= longestValue else { return String(short) + "\u{2026}" }
      short.append(shown)
    }
    return String(short)
  }
}
