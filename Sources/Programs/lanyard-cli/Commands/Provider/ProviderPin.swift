import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard provider pin`
struct ProviderPin: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "Show, set or remove the pinned keys of a server.",
    discussion: """
      A pin is the digest of a server's public key, sha256/BASE64. With pins a server is trusted only if its certificate \
      is valid and its own key is one of them; keys of certificate authorities are not compared. So give the digest of \
      the key in use, and as a backup that of the key which the server will use next: its administrator knows it. \
      Without a pin the present ones are shown, and the digest of the key in use, which the agent reads at the server.

      EXAMPLES:
        lanyard provider pin corp idp.corp.example
        lanyard provider pin corp idp.corp.example sha256/… sha256/… \\
          --until 2031-01-01
        lanyard provider pin corp idp.corp.example --until 2032-01-01  # a later end
        lanyard provider pin corp idp.corp.example --remove
      """)

  @Argument(help: "The provider.", completion: .providers)
  var provider: String

  @Argument(help: "The host name of the server.")
  var host: String

  @Argument(help: "The pins of this host, two at least.")
  var pins: [String] = []

  @Option(
    help: ArgumentHelp(
      "The day on which the pins of this provider end, so that a changed key can't lock you out for ever.",
      valueName: "date"))
  var until: String?

  @Flag(help: "Remove the pins of this host.")
  var remove = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if remove, !pins.isEmpty { throw ValidationError("Give pins or --remove, not both.") }
    if !pins.isEmpty, Set(pins).count < 2 {
      throw ValidationError(
        "One pin alone would lock you out when the server changes its key: give a second one, the backup.")
    }
    if !pins.allSatisfy(Self.isPin) {
      throw ValidationError("A pin is sha256/ and 44 characters of Base64, the digest of a public key.")
    }
    if until != nil, remove { throw ValidationError("Give --until or --remove, not both.") }
    if let until, Self.instant(until) == nil { throw ValidationError("Give the day as YYYY-MM-DD.") }
  }

  func run() throws {
    var agent = try common.connect()
    var all: [(host: String, pins: [String])] = []
    try agent.call("provider.get", params: { $0.member("provider", provider) }) { result in
      let told = (result["provider"] ?? result)["pins"]
      all = told.map { $0.members.map { ($0.key.string ?? "", $0.value.elements.compactMap(\.string)) } } ?? []
    }
    let host = host.lowercased()
    let present = all.first { $0.host == host }?.pins ?? []
    if pins.isEmpty, !remove, until == nil { return try show(present, of: host, by: &agent) }
    if pins.isEmpty, present.isEmpty { throw CommandFailure(.other, name: "noPins", "\(host) has no pins.") }
    let kept = pins.isEmpty && !remove ? present : pins
    all.removeAll { $0.host == host }
    if !kept.isEmpty { all.append((host, kept)) }
    try agent.call("provider.update") { writer in
      writer.member("provider", provider)
      writer.key("pins")
      writer.beginObject()
      for entry in all {
        writer.key(entry.host)
        writer.beginArray()
        for pin in entry.pins { writer.string(pin) }
        writer.endArray()
      }
      writer.endObject()
      if let until = until.flatMap(Self.instant) { writer.member("pinsExpireAt", until) }
    } result: { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.done(
        Text.shown(done(kept.count, of: host)))
    }
  }

  private func done(_ count: Int, of host: String) -> String {
    if remove { return "Removed the pins of \(host)." }
    if pins.isEmpty { return "The pins of \(provider) are in force until \(until ?? "")." }
    return "Pinned \(count) keys of \(host) for \(provider)."
  }

  private func show(_ present: [String], of host: String, by agent: inout AgentConnection) throws {
    let found = try ProviderTest.findings(of: provider, from: &agent)
      .first { $0.check == "serverKey" && $0.subject == host }
    let inUse = found?.pin
    if common.json { return Output.answer(json: Self.json(present, inUse: inUse, of: host)) }
    if present.isEmpty {
      Output.answer(Text.shown("\(host) has no pins."))
    } else {
      for pin in present { Output.answer(Text.shown(pin)) }
    }
    if let inUse {
      let isPinned = present.contains(inUse)
      Output.note(Text.shown("The server uses the key \(inUse)\(isPinned ? ", which is pinned" : "")."))
      if !isPinned {
        Output.note(
          "Compare it with what the server's administrator tells you, ask for the next key's digest, and then:")
        Output.note(Text.shown("  lanyard provider pin \(provider) \(host) \(inUse) BACKUP"))
      }
    } else {
      Output.note(Text.shown(found?.message ?? "No endpoint and no allowed origin of \(provider) uses TLS at \(host)."))
    }
  }

  private static func json(_ pins: [String], inUse: String?, of host: String) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("host", host)
    writer.member("pins", pins)
    writer.member("keyInUse", inUse)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  private static func isPin(_ text: String) -> Bool {
    let digest = text.utf8.dropFirst("sha256/".utf8.count)
    return text.hasPrefix("sha256/") && digest.count == 44 && digest.last == UInt8(ascii: "=")
  }

  /// The beginning of a day in UTC.
  private static func instant(_ text: String) -> String? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count == 10, parts.map(\.count) == [4, 2, 2], parts.allSatisfy({ Int($0) != nil }) else {
      return nil
    }
    return text + "T00:00:00.000Z"
  }
}

extension Finding {
  /// The pin in its message.
  fileprivate var pin: String? {
    message.split(separator: " ").first { $0.hasPrefix("sha256/") }.map { $0.hasSuffix(".") ? $0.dropLast() : $0 }
      .map(String.init)
  }
}
