internal import AgentPorts

extension HTTPResponse {
  /// Says of itself that it is a page.
  var isPage: Bool {
    let type = field("Content-Type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
    return type == "text/html" || type == "application/xhtml+xml"
  }
}

extension UInt8 {
  /// White space of RFC 8259 §2.
  var isBlank: Bool { self == 0x20 || (0x09...0x0A).contains(self) || self == 0x0D }
}
