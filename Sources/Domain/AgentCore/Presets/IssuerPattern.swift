/// The issuers of a provider that has one for each tenant, told apart only in the tokens: Microsoft Entra's documents at
/// `…/common/v2.0` and `…/organizations/v2.0` name `https://login.microsoftonline.com/{tenantid}/v2.0`.
///
/// OpenID Connect Discovery §4.3 wants the issuer to be just the one that was asked. A preset alone may say that it need
/// not be: elsewhere such a document is refused.
public struct IssuerPattern: Sendable, Equatable {
  private static let blank = "{tenantid}"
  /// The tenants of those who may be anybody's, a work account or a person's own.
  private static let shared = ["common", "organizations", "consumers"]

  private let front: Substring
  private let back: Substring

  /// Nil if the address names one tenant.
  init?(sharedAddress issuer: String) {
    for name in Self.shared {
      if let range = issuer.firstRange(of: "/\(name)/") {
        front = issuer[...range.lowerBound]
        back = issuer[issuer.index(before: range.upperBound)...]
        return
      }
    }
    return nil
  }

  /// The tenant's own issuer; nil for what is no tenant's id.
  public func issuer(ofTenant tenant: String) -> String? {
    let isID = (1...64).contains(tenant.utf8.count) && tenant.utf8.allSatisfy(Self.isIDByte)
    return isID ? "\(front)\(tenant)\(back)" : nil
  }

  /// A document of this provider: it names the pattern, or one of its tenants.
  public func covers(_ issuer: String) -> Bool {
    if isTemplate(issuer) { return true }
    guard issuer.hasPrefix(front), issuer.hasSuffix(back), issuer.utf8.count > front.utf8.count + back.utf8.count else {
      return false
    }
    let tenant = issuer.dropFirst(front.count).dropLast(back.count)
    return self.issuer(ofTenant: String(tenant)) == issuer
  }

  public func isTemplate(_ issuer: String) -> Bool { isSame(issuer, "\(front)\(Self.blank)\(back)") }

  private static func isIDByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }
}
