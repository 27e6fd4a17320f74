package import AgentCore
package import AgentModel
package import AgentOAuth
internal import AgentStore
internal import JSONRPC
internal import SecretJSON
package import Secrets

/// A record that work in flight leaves in the inbox of a locked vault, for the next unlocking.
package enum PendingRecord: InboxRecord {
  /// A provider's raw answer to a refresh.
  case answer(StagedAnswer, of: TokenOrigin)
  /// A refresh that began and spent no token.
  case unspent(ExchangeIntent, of: AccountID)
  case overtaken(OvertakenToken, of: TokenOrigin)
  /// A refresh token of a sign-in that created no account.
  case unclaimed(Secret, at: ProviderName, Provider?, label: String)

  /// The request of the record; nil for a token without one.
  var intent: ExchangeIntent? {
    switch self {
    case .answer(let answer, _): answer.intent
    case .unspent(let intent, _): intent
    case .overtaken, .unclaimed: nil
    }
  }

  private enum Word: String { case answer, unspent, overtaken, unclaimed }

  package var record: Secret {
    SecretJSON.write { writer in
      switch self {
      case .answer(let answer, let origin):
        writer.member("what", Word.answer.rawValue)
        origin.write(to: &writer)
        writer.member("intent", answer.intent.record)
        writer.member("body", answer.body)
      case .unspent(let intent, let account):
        writer.member("what", Word.unspent.rawValue)
        writer.member("account", account.text)
        writer.member("intent", intent.record)
      case .overtaken(let token, let origin):
        writer.member("what", Word.overtaken.rawValue)
        origin.write(to: &writer)
        token.write(to: &writer)
      case .unclaimed(let token, let name, let provider, let label):
        writer.member("what", Word.unclaimed.rawValue)
        writer.member("provider", name.text)
        writer.member("sender", provider?.forRevocation.record)
        writer.member("label", label)
        writer.member("token", token)
      }
    }
  }

  init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> PendingRecord? in
      let origin = TokenOrigin(node)
      let intent = node["intent"]?.secret.flatMap { ExchangeIntent($0) }
      switch (node["what"]?.string.flatMap { Word(rawValue: $0) }, origin, intent) {
      case (.answer, let origin?, let intent?):
        return node["body"]?.secret.map { .answer(StagedAnswer(intent: intent, body: $0), of: origin) }
      case (.unspent, _, let intent?):
        return node["account"]?.string.flatMap { AccountID($0) }.map { .unspent(intent, of: $0) }
      case (.overtaken, let origin?, _): return OvertakenToken(node).map { .overtaken($0, of: origin) }
      case (.unclaimed, _, _):
        guard let token = node["token"]?.secret, let label = node["label"]?.string,
          let provider = node["provider"]?.string.flatMap({ ProviderName($0) })
        else { return nil }
        return .unclaimed(token, at: provider, node["sender"]?.secret.flatMap { Provider($0) }, label: label)
      default: return nil
      }
    }
    guard let read else { return nil }
    self = read
  }
}
