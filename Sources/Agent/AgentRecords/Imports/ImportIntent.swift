package import AgentCore
package import AgentModel
package import AgentOAuth
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// An import under way, and the provider's raw answer to it (docs/tokens.md, Imports).
  package static let importJournal = DeclaredKind(55, under: .vault, .answersForItself)
}

/// An import's request in the journal (docs/tokens.md, Imports). It holds no secret.
package struct ImportIntent: Sendable {
  /// Its nonce names the record.
  package var request: ExchangeIntent
  package var provider: ProviderName
  /// The token that is imported (`Fingerprint.number`).
  package var digest: Int64
  package var alias: Alias?
  /// The accounts of a limited caller, which adds none; nil: nothing limits it.
  package var covered: Set<AccountID>?
  /// Digests of the persons who signed out at this provider since: none of them is signed in again by it.
  var signedOut: [[UInt8]] = []
  /// The provider has answered: `StagedImport`.
  var isAnswered = false

  package init(
    _ request: ExchangeIntent, of digest: Int64, at provider: ProviderName, alias: Alias?, covered: Set<AccountID>?
  ) {
    (self.request, self.digest, self.provider) = (request, digest, provider)
    (self.alias, self.covered) = (alias, covered)
  }

  package var id: [UInt8] { request.nonce }

  package var journal: ExchangeMachine.JournalEntry { isAnswered ? .answer(request) : .intent(request) }

  /// Takes the place of an earlier import of the token. `lostReplays`: the replays before this one; nil: it is none.
  package mutating func replace(_ earlier: ImportIntent, lostReplays: Int?) {
    request.nonce = earlier.id
    guard let lostReplays else { return }
    (request.isReplay, request.lostReplays) = (true, lostReplays)
    request.firstSent =
      earlier.request.firstSent
      ?? ExchangeIntent.Sending(bootID: earlier.request.bootID, boot: earlier.request.boot)
  }

  var record: Secret { SecretJSON.write { write(to: &$0) } }

  func write(to writer: inout JSONWriter) {
    writer.member("request", request.record)
    writer.member("provider", provider.text)
    writer.member("digest", String(digest))
    writer.member("alias", alias?.text)
    if let covered { Self.write(covered.map(\.text).sorted(), "covered", to: &writer) }
    if !signedOut.isEmpty { Self.write(signedOut.map { Base64URL.encode($0) }, "signedOut", to: &writer) }
  }

  private static func write(_ texts: [String], _ name: StaticString, to writer: inout JSONWriter) {
    writer.key(name)
    writer.beginArray()
    for text in texts { writer.string(text) }
    writer.endArray()
  }

  init?(_ plain: Secret) {
    guard let read = SecretJSON.read(plain, { ImportIntent($0) }) else { return nil }
    self = read
  }

  init?(_ node: JSONNode) {
    guard let request = node["request"]?.secret.flatMap({ ExchangeIntent($0) }),
      let provider = node["provider"]?.string.flatMap({ ProviderName($0) }),
      let digest = node["digest"]?.string.flatMap({ Int64($0) })
    else { return nil }
    self.init(
      request, of: digest, at: provider, alias: node["alias"]?.string.flatMap { Alias($0) },
      covered: node["covered"]?.strings.map { Set($0.compactMap { AccountID($0) }) })
    signedOut = (node["signedOut"]?.strings ?? []).compactMap { Base64URL.decode($0) }
    isAnswered = node["body"] != nil
  }
}

/// A provider's raw answer to an import, and what is needed to go on with it after a crash.
package struct StagedImport: Sendable {
  package var intent: ImportIntent
  package var body: Secret
  /// The token that was sent: it is still the one where the provider does not rotate.
  package var imported: Secret
  /// Revokes the successor if the provider is removed meanwhile, or becomes another client.
  package var sender: Provider

  package init(_ intent: ImportIntent, body: Secret, imported: Secret, sender: Provider) {
    (self.intent, self.body, self.imported) = (intent, body, imported)
    self.sender = sender.forRevocation
    (self.intent.isAnswered, self.intent.request.isLeaving) = (true, true)
  }

  var record: Secret {
    SecretJSON.write { writer in
      intent.write(to: &writer)
      writer.member("body", body)
      writer.member("imported", imported)
      writer.member("sender", sender.record)
    }
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> StagedImport? in
      guard let intent = ImportIntent(node), let body = node["body"]?.secret, let imported = node["imported"]?.secret,
        let sender = node["sender"]?.secret.flatMap({ Provider($0) })
      else { return nil }
      return StagedImport(intent, body: body, imported: imported, sender: sender)
    }
    guard let read else { return nil }
    self = read
  }
}
