import AgentCore
import Testing

/// The bundle's format is read strictly, and what it says to one agent is a function of the bundle and the agent's id.
@Suite struct PolicyBundleTests {
  private func policy(_ name: String, _ version: Int) -> String {
    #"{"name":"\#(name)","version":\#(version),"capabilities":{"view":{"kind":"read"}}}"#
  }

  private func read(_ text: String) throws(PolicyProblems) -> PolicyBundle {
    try PolicyBundle(parsing: Array(text.utf8))
  }

  private func problems(_ text: String) -> [String] {
    do throws(PolicyProblems) {
      _ = try read(text)
      return []
    } catch {
      return error.list.map(\.pointer)
    }
  }

  @Test func wholeBundle_isRead() throws {
    let bundle = try read(
      """
      {"version": 7, "description": "of spring", "policies": [\(policy("default", 3)), \(policy("field", 1))],
       "rollouts": [{"policy": \(policy("default", 4)), "percentage": 25, "key": "spring"},
                    {"policy": \(policy("new", 1)), "percentage": 100, "key": "s", "shadow": true}]}
      """)
    #expect(bundle.version == 7)
    #expect(bundle.policies.map(\.name) == ["default", "field"])
    #expect(bundle.rollouts.map(\.policy.document.version) == [4, 1])
    #expect(bundle.rollouts.map(\.isShadow) == [false, true])
    #expect(try read(#"{"version":1,"policies":[]}"#).policies.isEmpty)
  }

  @Test func problems_areToldWithTheirPlaces() {
    #expect(problems("") == [""])
    #expect(problems(#"{"version":1,"version":2,"policies":[]}"#) == [""])
    #expect(problems("[]") == [""])
    #expect(problems("{}") == ["", ""])
    #expect(problems(#"{"version":0,"policies":{},"shadow":true}"#) == ["/shadow", "/version", "/policies"])
    #expect(
      problems(#"{"version":1,"policies":[{"name":"a b","version":1,"capabilities":{}}]}"#) == ["/policies/0/name"])
    #expect(problems(#"{"version":1,"policies":[\#(policy("a", 1)),\#(policy("a", 2))]}"#) == ["/policies/1/name"])
    let rollout = #""percentage":101,"key":"","shadow":1}]}"#
    #expect(
      problems(#"{"version":1,"policies":[],"rollouts":[{"policy":\#(policy("a", 1)),\#(rollout)"#) == [
        "/rollouts/0/percentage", "/rollouts/0/key", "/rollouts/0/shadow",
      ])
    #expect(
      problems(
        #"{"version":1,"policies":[\#(policy("a", 2))],"rollouts":[{"policy":\#(policy("a", 2)),"percentage":1,"key":"k"}]}"#
      ) == ["/rollouts/0/policy/version"])
    let many = Array(repeating: policy("a", 1), count: 65).joined(separator: ",")
    #expect(problems(#"{"version":1,"policies":[\#(many)]}"#) == ["/policies"])
  }

  @Test func bundleOverTheBound_isNotRead() {
    let text = #"{"version":1,"policies":[]}"#
    #expect(problems(text + String(repeating: " ", count: PolicyBundle.maximumBytes - text.utf8.count)) == [])
    #expect(problems(text + String(repeating: " ", count: PolicyBundle.maximumBytes - text.utf8.count + 1)) == [""])
  }

  @Test func rollout_countsForTheShareOfItsKey() throws {
    let bundle = try read(
      """
      {"version": 1, "policies": [\(policy("default", 1))],
       "rollouts": [{"policy": \(policy("default", 2)), "percentage": 25, "key": "k"}]}
      """)
    func version(at share: Double) -> Int64? {
      BundledPolicies(bundle) { _ in share }.policies["default"]?.document.version
    }
    #expect(version(at: 0) == 2)
    #expect(version(at: 0.2499) == 2)
    #expect(version(at: 0.25) == 1)
    #expect(version(at: 0.9999) == 1)
  }

  @Test(arguments: [0, 100]) func noneAndAll_areExact(_ percentage: Int) throws {
    let bundle = try read(
      """
      {"version": 1, "policies": [\(policy("default", 1))],
       "rollouts": [{"policy": \(policy("default", 2)), "percentage": \(percentage), "key": "k", "shadow": true}]}
      """)
    let largest = RolloutShare.of(Array(repeating: 255, count: 16))
    #expect(largest < 1)
    for share in [0, RolloutShare.of(Array(repeating: 0, count: 16)), 0.5, largest] {
      let found = BundledPolicies(bundle) { _ in share }
      #expect(found.policies["default"]?.document.version == 1)
      #expect(found.shadows["default"]?.version == (percentage == 100 ? 2 : nil))
    }
  }

  @Test func versionNeverDecreases_andItsContentNeverChanges() throws {
    func edition(_ version: Int64, _ byte: UInt8) -> BundleAdmission.Edition { .init(version: version, digest: [byte]) }
    #expect(try BundleAdmission(of: edition(1, 1), after: nil) == .new)
    #expect(try BundleAdmission(of: edition(2, 2), after: edition(1, 1)) == .new)
    #expect(try BundleAdmission(of: edition(2, 2), after: edition(2, 2)) == .same)
    #expect(throws: BundleRefusal.olderVersion(1, kept: 2)) {
      try BundleAdmission(of: edition(1, 1), after: edition(2, 2))
    }
    #expect(throws: BundleRefusal.changedContent(2)) { try BundleAdmission(of: edition(2, 3), after: edition(2, 2)) }
  }
}
