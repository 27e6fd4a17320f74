import AgentCore
import CommandSupport
import JSONRPC

/// What `provider.discover` found out about a server.
struct FoundServer {
  let issuer: String
  /// The issuer is at another host than the URL that was given.
  let isElsewhere: Bool
  let known: ProviderPreset?
  let offersRegistration: Bool
  /// False if the server announces its client authentication methods, and `none` is not among them.
  let announcesPublicClients: Bool
  private let offers: [String]
  private let lacks: [String]

  init(_ node: JSONNode) {
    issuer = node["issuer"]?.string ?? ""
    isElsewhere = node["isElsewhere"]?.bool ?? false
    known = node["preset"]?.string.flatMap(ProviderPreset.named)
    let endpoints = node["endpoints"]
    let methods = node["tokenEndpointAuthMethods"].map { $0.elements.compactMap(\.string) } ?? []
    announcesPublicClients = methods.isEmpty || methods.contains("none")
    offersRegistration = endpoints?["registration"] != nil
    let all: [(String, Bool)] = [
      ("sign-in by browser", endpoints?["authorization"] != nil),
      ("sign-in by device", endpoints?["deviceAuthorization"] != nil),
      ("revocation", endpoints?["revocation"] != nil), ("registration of clients", offersRegistration),
      ("pushed requests", endpoints?["pushedAuthorizationRequest"] != nil), ("PKCE", node["pkce"]?.bool == true),
      ("bound tokens (DPoP)", node["dpop"]?.bool == true),
    ]
    offers = all.filter(\.1).map(\.0)
    lacks = all.filter { !$0.1 }.map(\.0)
  }

  /// A server that publishes no documents, known by its preset.
  init(_ known: ProviderPreset, issuer: String) {
    self.issuer = issuer
    self.known = known
    (isElsewhere, offersRegistration, announcesPublicClients) = (false, false, true)
    (offers, lacks) = ([], [])
  }

  /// Tells on stderr what was found.
  func tell() {
    Output.note(Text.shown("Found \(issuer)\(known.map { ", \($0.title)" } ?? "")."))
    for (what, names) in [("It offers", offers), ("It does not announce", lacks)] where !names.isEmpty {
      let text = "\(what) \(names.joined(separator: ", "))."
      let lines = Text.lines(text, columns: max(Terminal.columns, 40), first: "  ", next: "    ")
      for line in lines { Output.note(line) }
    }
  }

  /// A name for the provider: that of the preset, else the part of the host that tells most.
  var proposedName: String {
    if let known { return known.name }
    let host = issuer.split(separator: "/").dropFirst().first.map { $0.prefix { $0 != ":" } } ?? ""
    var labels = host.lowercased().split(separator: ".").map(String.init)
    let isAddress = labels.allSatisfy { label in label.allSatisfy(\.isNumber) }
    if !isAddress {
      while labels.count > 2, Self.generic.contains(labels[0]) { labels.removeFirst() }
      if labels.count > 1 { labels.removeLast() }
    }
    let text = isAddress ? labels.joined(separator: "-") : labels.first ?? ""
    let plain = text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }.drop { $0 == "-" }
    return plain.isEmpty ? "provider" : String(plain.prefix(64))
  }

  /// Labels that hosts of sign-ins begin with.
  private static let generic: Set = [
    "accounts", "auth", "id", "identity", "idp", "login", "oauth", "oidc", "openid", "signin", "sso", "www",
  ]
}
