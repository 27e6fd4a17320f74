import CommandSupport
import JSONRPC

/// Aliases for an account that has none. A provider chooses tenants and e-mail addresses, and programs follow an alias: by
/// itself an account is named after its provider alone, whose name the person chose.
enum ProposedAlias {
  /// Gives a new account the name of its provider. The account as it is if that can't be, since another program took the
  /// name at this moment.
  static func give(
    to account: AccountInfo, among others: [AccountInfo], via agent: inout AgentConnection
  ) -> AccountInfo {
    guard let alias = given(account, among: others) else { return account }
    try? agent.perform("account.rename") { writer in
      writer.member("account", account.id)
      writer.member("alias", alias)
    }
    return (try? AccountInfo.named(account.id, via: &agent)) ?? account
  }

  /// The provider's name, with a number from the second account on; nil if all of these belong to other accounts.
  static func given(_ account: AccountInfo, among others: [AccountInfo]) -> String? {
    let numbered = (2...mostNumbered).map { "\(account.provider)-\($0)" }
    return free([account.provider] + numbered, for: account, among: others)
  }

  /// What a person may call it: its tenant, or the name in its e-mail address; nil if none of these can be an alias, or
  /// all belong to other accounts.
  static func proposed(_ account: AccountInfo, among others: [AccountInfo]) -> String? {
    let mailName = account.email.flatMap { $0.split(separator: "@").first }.map(String.init)
    let tenant = account.tenant.flatMap { isMachineMade($0) ? nil : $0 }
    let both = tenant.flatMap { tenant in mailName.map { "\(tenant)-\($0)" } }
    let atProvider = mailName.map { "\($0)-\(account.provider)" }
    return free([tenant, mailName, both, atProvider], for: account, among: others)
  }

  /// More accounts at one provider have no sensible alias.
  private static let mostNumbered = 20

  private static func free(_ wanted: [String?], for account: AccountInfo, among others: [AccountInfo]) -> String? {
    let taken = Set(others.filter { $0.id != account.id }.compactMap(\.alias))
    return wanted.lazy.compactMap { $0.flatMap(shaped) }.first { !taken.contains($0) }
  }

  /// A UUID, or another id that no person types.
  private static func isMachineMade(_ tenant: String) -> Bool {
    tenant.count > 24 || tenant.count(where: \.isNumber) > 8
  }

  /// Lower-case, with `-` for what an alias can't have; nil if nothing is left.
  private static func shaped(_ text: String) -> String? {
    let plain = text.lowercased().prefix(64).map { character -> Character in
      character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character)) ? character : "-"
    }
    let alias = String(plain.drop { !($0.isLetter || $0.isNumber) })
    return alias.isEmpty || alias.hasPrefix("acc_") ? nil : alias
  }
}
