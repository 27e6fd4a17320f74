import CommandSupport

/// An alias for an account that has none: its tenant, else the name in its e-mail address, else its provider.
enum ProposedAlias {
  /// Nil if none of these can be an alias, or all belong to other accounts.
  static func of(_ account: AccountInfo, among others: [AccountInfo]) -> String? {
    let taken = Set(others.filter { $0.id != account.id }.compactMap(\.alias))
    let mailName = account.email.flatMap { $0.split(separator: "@").first }.map(String.init)
    let tenant = account.tenant.flatMap { isMachineMade($0) ? nil : $0 }
    let both = tenant.flatMap { tenant in mailName.map { "\(tenant)-\($0)" } }
    let atProvider = mailName.map { "\($0)-\(account.provider)" } ?? account.provider
    let numbered = (2...mostNumbered).map { "\(atProvider)-\($0)" }
    let wanted = [tenant, mailName, both, atProvider] + numbered
    return wanted.lazy.compactMap { $0.flatMap(shaped) }.first { !taken.contains($0) }
  }

  /// More accounts of one name at one provider have no sensible alias.
  private static let mostNumbered = 20

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
