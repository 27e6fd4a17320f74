internal import AgentModel

/// The issuers of a provider that has one for each tenant behind a shared address. Microsoft Entra's documents at
/// `…/common/v2.0` and `…/organizations/v2.0` name `https://login.microsoftonline.com/{tenantid}/v2.0`.
///
/// OpenID Connect Discovery §4.3 requires the issuer in the document to equal the requested one. Only a preset may
/// relax this rule.
public struct IssuerPattern: Sendable, Equatable {
  private static let blank = "{tenantid}"
  /// Path segments that serve all tenants.
  private static let shared = ["common", "organizations", "consumers"]

  private let front: Substring
  private let back: Substring

  /// Nil if the address names a single tenant.
  package init?(sharedAddress issuer: String) {
    for name in Self.shared {
      if let range = issuer.firstRange(of: "/\(name)/") {
        front = issuer[...range.lowerBound]
        back = issuer[issuer.index(before: range.upperBound)...]
        return
      }
    }
    return nil
  }

  /// The issuer of a tenant; nil if `tenant` is no valid tenant id.
  public func issuer(ofTenant tenant: String) -> String? {
    let isID = (1...64).contains(tenant.utf8.count) && tenant.utf8.allSatisfy(Self.isIDByte)
    return isID ? "\(front)\(tenant)\(back)" : nil
  }

  /// True for the template, and for the issuer of any tenant.
  public func covers(_ issuer: String) -> Bool {
    if isTemplate(issuer) { return true }
    guard issuer.hasPrefix(front), issuer.hasSuffix(back), issuer.utf8.count > front.utf8.count + back.utf8.count else {
      return false
    }
    let tenant = issuer.dropFirst(front.count).dropLast(back.count)
    return self.issuer(ofTenant: String(tenant)) == issuer
  }

  /// True for the issuer with the placeholder `{tenantid}`.
  public func isTemplate(_ issuer: String) -> Bool { equalCodePoints(issuer, "\(front)\(Self.blank)\(back)") }

  private static func isIDByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }
}
