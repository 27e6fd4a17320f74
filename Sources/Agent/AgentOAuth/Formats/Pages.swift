internal import AgentPorts
internal import Secrets

extension HTTPResponse {
  /// Says of itself that it is a page.
  var isPage: Bool {
    let type = field("Content-Type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
    return type == "text/html" || type == "application/xhtml+xml"
  }

  /// Its body is a page, whatever the response says of itself.
  var isMarkup: Bool { body.withoutPreface.withBytes { $0.first { !$0.isBlank } == UInt8(ascii: "<") } }
}

extension UInt8 {
  /// White space of RFC 8259 §2.
  var isBlank: Bool { self == 0x20 || (0x09...0x0A).contains(self) || self == 0x0D }
}
