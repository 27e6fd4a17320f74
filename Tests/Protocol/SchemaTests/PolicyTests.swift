import SchemaKit
import Testing

/// `policy.schema.json` takes the documented examples (docs/offline.md, Policy), and refuses what the engine would not
/// keep.
struct PolicyTests {
  /// The example: viewing 7 days offline, notes 48 hours with a PIN, completing only online.
  static let fieldService = """
    {
      "name": "field-service",
      "version": 1,
      "tiers": {
        "low":    { "offlineWindowSeconds": 604800 },
        "medium": { "offlineWindowSeconds": 172800, "stepUp": { "method": "pin", "maxAgeSeconds": 43200 } },
        "high":   { "token": "fresh", "onlineWithinSeconds": 300 }
      },
      "capabilities": {
        "workOrder.view":     { "tier": "low", "kind": "read", "sensitivity": "internal",
                                "requires": { "scopesAll": ["workorders:read"] }, "onReauthentication": "readOnly" },
        "workOrder.note":     { "tier": "medium", "kind": "write", "sensitivity": "internal",
                                "requires": { "scopesAll": ["workorders:write"] } },
        "workOrder.complete": { "tier": "high", "kind": "write", "sensitivity": "confidential",
                                "requires": { "rolesAny": ["technician", "supervisor"], "scopesAll": ["workorders:write"] } }
      },
      "forbids": [
        { "capabilities": ["workOrder.complete"], "whenRole": "trainee" }
      ],
      "onClockSuspect": "shrink"
    }
    """

  @Test func examplePolicy_matchesTheSchema() throws {
    #expect(RepositoryFixture.contract.problems(inPolicy: try JSONValue(parsing: Self.fieldService)) == [])
  }

  @Test(arguments: [
    ("/tiers/low/ofllineWindowSeconds", "60"), ("/capabilities/workOrder.view/kind", #""look""#),
    ("/tiers/medium/stepUp/method", #""face""#), ("/tiers/high/onlineWithinSeconds", "-1"),
    ("/capabilities/workOrder.note/requires/rolesNone", "[]"), ("/version", "0"), ("/onClockSuspect", #""ignore""#),
    ("/forbids/0/capabilities", "[]"), ("/owner", #""alice""#), ("/capabilities/has space", #"{"kind":"read"}"#),
  ])
  func mistakeInAPolicy_isFoundAtItsPointer(_ pointer: String, _ json: String) throws {
    var document = try JSONValue(parsing: Self.fieldService)
    document[at: pointer] = try JSONValue(parsing: json)
    #expect(RepositoryFixture.contract.problems(inPolicy: document).map(\.pointer) == [pointer])
  }
}
