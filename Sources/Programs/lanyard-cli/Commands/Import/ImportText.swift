import CommandSupport

extension StringProtocol {
  /// Without the characters at both ends for which `isUnwanted` is true.
  func trimming(_ isUnwanted: (Character) -> Bool) -> String {
    var text = self[...]
    while let first = text.first, isUnwanted(first) { text = text.dropFirst() }
    while let last = text.last, isUnwanted(last) { text = text.dropLast() }
    return String(text)
  }
}

extension AgentPaths {
  /// The last part of a path.
  static func file(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// The scheme and the host with its port of an https URL, or of an http URL of this machine.
struct WebOrigin {
  let scheme: String
  /// With the port, if one is given.
  let host: String
  /// With its slash; empty if the URL has none.
  let path: String

  init?(_ url: String) {
    guard let start = url.firstRange(of: "://") else { return nil }
    scheme = String(url[..<start.lowerBound])
    let rest = url[start.upperBound...]
    host = String(rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    path = String(rest.dropFirst(host.count).prefix { $0 != "?" && $0 != "#" })
    guard scheme == "https" || scheme == "http", !host.isEmpty, !host.contains("@") else { return nil }
  }

  var text: String { "\(scheme)://\(host)" }
}
