public import AgentModel

/// A role of Amazon Web Services that an account's ID token is exchanged for (docs/desktop.md, AWS). One set of
/// credentials is kept for each.
public struct RoleSession: Hashable, Sendable {
  /// Why a request for a role is refused before anything is sent.
  public enum Problem: Error, Hashable, Sendable { case role, name, endpoint }

  public let roleARN: String
  /// What the log of AWS names the session.
  public let name: String
  /// How long the credentials shall live; nil: as long as AWS gives by itself.
  public let durationSeconds: Int?
  public let endpoint: HTTPURL

  /// The name of a session whose caller chose none.
  public static let defaultName = "lanyard"

  public init(
    roleARN: String, name: String? = nil, durationSeconds: Int? = nil, endpoint: String? = nil
  ) throws(Problem) {
    guard let partition = Self.partition(of: roleARN) else { throw .role }
    let name = name ?? Self.defaultName
    guard (2...64).contains(name.utf8.count), name.utf8.allSatisfy(Self.isNameByte) else { throw .name }
    guard let url = HTTPURL(endpoint ?? Self.endpoint(of: partition)), url.query == nil,
      url.scheme == .https || url.isLoopback
    else { throw .endpoint }
    self.roleARN = roleARN
    self.name = name
    self.durationSeconds = durationSeconds
    self.endpoint = url
  }

  /// True if the endpoint is one of AWS's own, which no caller can turn into another host.
  public var isAtAWS: Bool {
    guard endpoint.scheme == .https, endpoint.port == 443 else { return false }
    let labels = endpoint.host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count >= 3, labels[0] == "sts" || labels[0] == "sts-fips" else { return false }
    let rest = labels.dropFirst().joined(separator: ".")
    return Self.domains.contains { rest == $0 || labels.count >= 4 && labels.dropFirst(2).joined(separator: ".") == $0 }
  }

  private static let domains = ["amazonaws.com", "amazonaws.com.cn", "api.aws"]

  /// The partition of AWS that a role's name says: `arn:PARTITION:iam::ACCOUNT:role/NAME`.
  private static func partition(of arn: String) -> Substring? {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard parts.count == 6, (20...2048).contains(arn.utf8.count), arn.utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
      parts[0] == "arn", parts[1] == "aws" || parts[1].hasPrefix("aws-"), parts[2] == "iam", parts[3].isEmpty,
      parts[4].utf8.count == 12, parts[4].utf8.allSatisfy({ 0x30...0x39 ~= $0 }), parts[5].hasPrefix("role/"),
      parts[5].utf8.count > 5
    else { return nil }
    return parts[1]
  }

  private static func endpoint(of partition: Substring) -> String {
    switch partition {
    case "aws-cn": "https://sts.cn-north-1.amazonaws.com.cn"
    case "aws-us-gov": "https://sts.us-gov-west-1.amazonaws.com"
    default: "https://sts.amazonaws.com"
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "_+=,.@-".utf8.contains(byte)
    }
  }
}

/// How long before their end credentials of a role are replaced: programs of AWS ask anew for those that have less than a
/// quarter of an hour left.
public enum RoleLeadTime {
  public static func of(lifetime: Milliseconds) -> Milliseconds { min(.seconds(960), lifetime / 4) }
}
