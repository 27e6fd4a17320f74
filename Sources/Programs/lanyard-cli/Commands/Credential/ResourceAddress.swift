import AgentModel
import CommandSupport
import JSONRPC

/// The address of a resource in checked parts: the URL for the agent, and the user name that stood in the address.
///
/// `HTTPURL` checks the URL; this takes off what git and people write around one: a user name, and a fragment.
struct ResourceAddress {
  let url: HTTPURL
  let user: String?

  var text: String { url.text }

  /// The URL that a tool asks for, whole, with its scheme. Nil for anything else: a token that is given for a host alone
  /// could be sent without TLS.
  init?(whole text: String) {
    guard let scheme = text.range(of: "://"), !text[..<scheme.lowerBound].isEmpty else { return nil }
    let start = text[..<scheme.upperBound]
    let rest = text[scheme.upperBound...].prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let at = authority.firstIndex(of: "@") else {
      guard let url = HTTPURL("\(start)\(rest)") else { return nil }
      (self.url, user) = (url, nil)
      return
    }
    // A backslash, for one, ends the host for some readers of URLs.
    guard authority[..<at].utf8.allSatisfy(Self.isUserInformation) else { return nil }
    // A second @ would leave open which of the names is the host; `HTTPURL` refuses it.
    guard let url = HTTPURL("\(start)\(rest[rest.index(after: at)...])") else { return nil }
    let named = authority[..<at].prefix { $0 != ":" }
    guard let user = PercentCoding.decode(named.utf8),
      user.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    self.url = url
    self.user = user.isEmpty ? nil : user
  }

  /// From the parts in which a tool names a server. Nil if one of them could change what another means.
  init?(scheme: String, host: String, path: String = "") {
    guard scheme == "https" || scheme == "http", host.utf8.allSatisfy(Self.isHost),
      let url = HTTPURL("\(scheme)://\(host)/\(Self.escaped(path))")
    else { return nil }
    (self.url, user) = (url, nil)
  }

  /// As a person types it, with or without `https://`.
  ///
  /// - Throws: a usage failure that says what the address is instead.
  init(typed text: String) throws(CommandFailure) {
    if let whole = ResourceAddress(whole: text) {
      self = whole
      return
    }
    if let shell = SecureShellAddress(text) { throw shell.explanation }
    if !text.contains("://"), let first = text.utf8.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "."),
      let assumed = ResourceAddress(whole: "https://\(text)")
    {
      self = assumed
      return
    }
    throw .usage(
      "\(Text.shown(text)) is not the address of a server. Nothing was printed.",
      hints: ["Write it as https://HOST/PATH, as in `lanyard resolve https://github.com/acme/app.git`."])
  }

  /// The pattern of a rule that covers this URL: its path, or its whole host where a pattern can't say the path. Nil
  /// where no rule can, since rules are for https alone.
  var pattern: String? {
    guard url.scheme == .https else { return nil }
    let decoded = PercentCoding.decode(url.path.utf8) ?? "*"
    return url.origin + (decoded.contains("*") ? "" : url.path)
  }

  private static func isHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._:[]".utf8.contains(byte)
    }
  }

  /// `userinfo` of RFC 3986 §3.2.1.
  private static func isUserInformation(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~!$&'()*+,;=:%".utf8.contains(byte)
    }
  }

  /// Tools decode the path. What a URL can't hold as it is is encoded again.
  private static func escaped(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in path.utf8 {
      switch byte {
      case 0x21, 0x24, 0x26...0x3B, 0x3D, 0x40...0x5A, 0x5F, 0x61...0x7A, 0x7E: bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// An address of SSH, as git writes it: `ssh://git@host/path`, or `git@host:path` (git-clone(1), Git URLs).
private struct SecureShellAddress {
  let text: String
  let host: String
  let path: String

  init?(_ text: String) {
    self.text = text
    if let scheme = text.range(of: "://") {
      guard ["ssh", "git+ssh", "ssh+git"].contains(text[..<scheme.lowerBound].lowercased()) else { return nil }
      let rest = text[scheme.upperBound...]
      let authority = rest.prefix { $0 != "/" }
      path = String(rest[authority.endIndex...].drop { $0 == "/" })
      host = String(Self.withoutUser(authority).prefix { $0 != ":" })
      return
    }
    let before = text.prefix { $0 != ":" && $0 != "/" }
    guard !before.isEmpty, text[before.endIndex...].first == ":" else { return nil }
    let after = text[before.endIndex...].dropFirst()
    // `host:8080/path` is a port.
    let port = after.prefix { $0 != "/" }
    guard before.contains("@") || port.isEmpty || UInt16(port) == nil else { return nil }
    host = String(Self.withoutUser(before))
    path = String(after.drop { $0 == "/" })
  }

  private static func withoutUser(_ text: Substring) -> Substring {
    text.lastIndex(of: "@").map { text[text.index(after: $0)...] } ?? text
  }

  var explanation: CommandFailure {
    let here = ResourceAddress(scheme: "https", host: host, path: path)
    return .usage(
      "\(Text.shown(text)) is an address of SSH, which signs in by a key and asks for no token. No account answers for it.",
      hints: here.map { ["The same over https: `lanyard resolve \(ErrorMessages.shellWord($0.text))`."] } ?? [])
  }
}

extension String {
  /// The first place of a text in this one.
  fileprivate func range(of text: String) -> Range<String.Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}

/// The user name beside a token where a server wants Basic authentication. Most servers take any. `_usual_user` of the
/// Python client has the same table.
enum PlaceholderUser {
  /// Beside a secret whose account has no user name, and beside the token of an installation of a GitHub App
  /// (docs.github.com, Authenticating as a GitHub App installation, read on 2026-11-29).
  static let ofSecret = "x-access-token"

  static func name(for url: HTTPURL) -> String {
    let host = url.host
    if host == "bitbucket.org" { return "x-token-auth" }
    if host.hasSuffix(".pkg.dev") || host == "gcr.io" || host.hasSuffix(".gcr.io") { return "oauth2accesstoken" }
    return "oauth2"
  }
}
