import AgentCore
import AgentModel

/// How a person gets the client id that `lanyard provider add` needs: a client is registered at a known server.
struct ClientRegistration {
  /// A port that few programs listen at, to propose where the server compares it.
  static let proposedPort = 8765

  private let preset: ProviderPreset
  /// The redirect address that the person named.
  private let given: RedirectAddress?

  /// Nil where the server registers clients by itself, or no person signs in.
  init?(at preset: ProviderPreset, redirect given: RedirectAddress? = nil) {
    guard preset.kind == .openid, !preset.registersClients else { return nil }
    (self.preset, self.given) = (preset, given)
  }

  /// What `lanyard provider presets` says of it.
  var facts: [String] {
    var facts = preset.page.map { ["Register a client: \($0)"] } ?? []
    let host = preset.redirectHost
    if preset.comparesRedirectPort {
      facts.append("Register http://\(host):PORT/callback and add --redirect PORT.")
    } else if !preset.takesAnyRedirectPath {
      facts.append("Register http://\(host)/callback; the port is free.")
    }
    return facts
  }

  /// What to do if the client id is missing.
  var hints: [String] {
    var options = ["--client-id ID"]
    if preset.comparesRedirectPort, given == nil { options.append("--redirect \(Self.proposedPort)") }
    if preset.needsClientSecret { options.append("--client-secret-file FILE") }
    return [
      "Register a client at \(preset.page ?? preset.title)\(redirect).", "Then add \(options.joined(separator: " ")).",
    ]
  }

  /// The redirect URI to register, at the end of a sentence. None for sign-ins by device alone (`--redirect 0`).
  private var redirect: String {
    if given?.port == 0 { return "" }
    if given == nil, preset.takesAnyRedirectPath { return ", for a desktop application; it needs no redirect" }
    let host = given?.host ?? preset.redirectHost
    let path = given?.path ?? "/callback"
    guard let port = given?.port ?? (preset.comparesRedirectPort ? Self.proposedPort : nil) else {
      return "; its redirect is http://\(host)\(path), with any port"
    }
    return "; its redirect is http://\(host):\(port)\(path)"
  }
}
