import AgentCore
import AgentModel
import Testing

@Suite struct RoleSessionTests {
  private static let role = "arn:aws:iam::123456789012:role/deploy"

  @Test(arguments: [
    ("https://sts.amazonaws.com", true), ("https://sts.eu-west-1.amazonaws.com/", true),
    ("https://sts.cn-north-1.amazonaws.com.cn", true), ("https://sts-fips.us-east-1.amazonaws.com", true),
    ("https://sts.amazonaws.com:8443", false), ("https://sts.amazonaws.com.evil.example", false),
    ("https://evil.amazonaws.com", false), ("https://sts.evil.example.amazonaws.com", false),
    ("https://stsamazonaws.com", false), ("https://bucket.s3.amazonaws.com", false), ("http://127.0.0.1:5000", false),
  ])
  func endpoint_isAWSsOwn(_ endpoint: String, _ isAtAWS: Bool) throws {
    #expect(try RoleSession(roleARN: Self.role, endpoint: endpoint).isAtAWS == isAtAWS)
  }

  @Test(arguments: [
    ("arn:aws:iam::123456789012:role/a", "https://sts.amazonaws.com"),
    ("arn:aws-cn:iam::123456789012:role/a/b", "https://sts.cn-north-1.amazonaws.com.cn"),
    ("arn:aws-us-gov:iam::123456789012:role/a", "https://sts.us-gov-west-1.amazonaws.com"),
  ])
  func endpoint_isThatOfThePartition(_ role: String, _ origin: String) throws {
    let session = try RoleSession(roleARN: role)
    #expect(session.endpoint.origin == origin)
    #expect(session.name == "lanyard")
  }

  @Test(arguments: [
    "", "deploy", "arn:aws:iam::123456789012:role/", "arn:aws:iam::12345678901:role/deploy",
    "arn:aws:iam::123456789012:user/alice", "arn:aws:sts::123456789012:role/deploy",
    "arn:awsome:iam::123456789012:role/deploy", "arn:aws:iam::123456789012:role/de ploy",
    "arn:aws:iam:eu:123456789012:role/deploy",
  ])
  func role_isRefused(_ role: String) {
    #expect(throws: RoleSession.Problem.role) { try RoleSession(roleARN: role) }
  }

  @Test func nameAndEndpoint_areRefused() {
    for name in ["a", "two words", "ä", String(repeating: "x", count: 65)] {
      #expect(throws: RoleSession.Problem.name) { try RoleSession(roleARN: Self.role, name: name) }
    }
    for endpoint in ["http://sts.example", "https://sts.example/?a=b", "sts.amazonaws.com", "ftp://sts.example"] {
      #expect(throws: RoleSession.Problem.endpoint) { try RoleSession(roleARN: Self.role, endpoint: endpoint) }
    }
  }

  @Test func lead_isAQuarterOfAnHour_orOfTheLifetime() {
    #expect(RoleLeadTime.of(lifetime: .seconds(3600)) == .seconds(900))
    #expect(RoleLeadTime.of(lifetime: .seconds(43_200)) == .seconds(960))
    #expect(RoleLeadTime.of(lifetime: .seconds(900)) == .seconds(225))
  }
}
