import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider presets`
struct ProviderPresets: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "presets", abstract: "List the known servers, and how to add each.",
    discussion: """
      Words in capitals are yours. `lanyard provider add URL` finds the preset of a server by itself.

      EXAMPLES:
        lanyard provider presets
        lanyard provider presets okta
      """)

  @Argument(help: "Only this one.", completion: .list(Presets.all))
  var preset: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    let shown = try servers()
    guard !common.json else { return Self.write(shown) }
    for (index, server) in shown.enumerated() {
      if index > 0 { Output.answer("") }
      for line in server.lines(columns: max(Terminal.answerColumns, Self.fewestColumns)) {
        Output.answer(Text.shown(line))
      }
    }
  }

  private static let fewestColumns = 40

  private func servers() throws(CommandFailure) -> [KnownServer] {
    guard let preset else { return KnownServer.all }
    if let known = KnownServer.named(preset) { return [known] }
    let meant = NearMiss.of(preset, among: Presets.all).map { ["Did you mean \($0)?"] } ?? []
    throw .usage("There is no preset \(preset).", hints: meant + ["`lanyard provider presets` lists them."])
  }

  private static func write(_ servers: [KnownServer]) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("presets", servers.map(\.name))
    writer.key("servers")
    writer.beginArray()
    for server in servers { server.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}

extension KnownServer {
  /// For a person: the name, the command, and what to know before.
  func lines(columns: Int) -> [String] {
    var lines = ["\(name): \(title)", "  " + Presets.command(adding: name)]
    var facts: [String] = []
    if issuer == nil, let issuerTemplate { facts.append("Issuer: \(issuerTemplate).") }
    if comparesRedirectPort { facts.append("Register http://\(redirectHost):PORT/callback and add --redirect PORT.") }
    if !comparesRedirectPort, redirectHost != "127.0.0.1" {
      facts.append("Register http://\(redirectHost)/callback; the port is free.")
    }
    if needsClientSecret { facts.append("Desktop clients have a secret: --client-secret-file FILE.") }
    if suggestsDevice { facts.append("Sign in with --device: it needs no redirect URI.") }
    if !takesResource { facts.append("Takes no --resource; name the API in the scopes.") }
    for (name, value) in authorizationParameters.sorted(by: { $0.key < $1.key }) {
      facts.append("Sends \(name)=\(value).")
    }
    for (name, meaning) in parameterHints.sorted(by: { $0.key < $1.key }) {
      facts.append("--authorization-parameter \(name)=…: \(meaning).")
    }
    for fact in facts { lines += Text.lines(fact, columns: columns, first: "  ", next: "    ") }
    return lines
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("name", name)
    writer.member("title", title)
    writer.member("issuer", issuer)
    writer.member("issuerTemplate", issuerTemplate)
    writer.member("redirectHost", redirectHost)
    for (key, isSo) in flags {
      writer.key(key)
      writer.bool(isSo)
    }
    for (key, parameters) in maps {
      writer.key(key)
      writer.beginObject()
      for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        writer.string(value)
      }
      writer.endObject()
    }
    writer.endObject()
  }

  private var flags: [(String, Bool)] {
    [
      ("comparesRedirectPort", comparesRedirectPort), ("needsClientSecret", needsClientSecret),
      ("suggestsDevice", suggestsDevice), ("takesResource", takesResource), ("hasDiscovery", hasDiscovery),
    ]
  }

  private var maps: [(String, [String: String])] {
    [("authorizationParameters", authorizationParameters), ("parameterHints", parameterHints)]
  }
}
