internal import AgentModel
public import JSONRPC

/// The policies of an organisation in one signed file, `Schemas/bundle.schema.json` (docs/policy-bundles.md).
public struct PolicyBundle: Sendable {
  /// A policy and its document as written.
  public struct Policy: Sendable {
    public var document: PolicyDocument
    public var written: RawJSON

    public var name: String { document.name }
  }

  /// A policy for a part of the agents.
  public struct Rollout: Sendable {
    public var policy: Policy
    /// From 0, for no agent, to 100, for each.
    public var percentage: Int
    /// Chooses which agents are in it.
    public var key: String
    /// The policy decides nothing: what it would decide otherwise is audited.
    public var isShadow: Bool
  }

  /// The version of the bundle; a later bundle must not lower it.
  public let version: Int64
  /// At most one of each name.
  public let policies: [Policy]
  /// At most one of each name.
  public let rollouts: [Rollout]

  /// Far more than an organisation's policies take, and little enough to be held in memory several times.
  public static let maximumBytes = 512 << 10
  /// As many as a person may set.
  public static let maximumPolicies = 64

  /// Reads a bundle strictly: an unknown member is a problem.
  ///
  /// - Throws: every problem of the bundle.
  public init(parsing bytes: [UInt8]) throws(PolicyProblems) {
    guard bytes.count <= Self.maximumBytes else {
      throw PolicyProblems(PolicyProblem(pointer: "", text: "This is longer than \(Self.maximumBytes) bytes."))
    }
    self = try bytes.withUnsafeBufferPointer { (bytes) throws(PolicyProblems) -> PolicyBundle in
      let bytes = UnsafeRawBufferPointer(bytes)
      var tape = JSONTape()
      do throws(JSONScanner.Failure) { try JSONScanner.scan(bytes, onto: &tape) } catch {
        throw PolicyProblems(error)
      }
      return try tape.withRoot(of: bytes) { (root) throws(PolicyProblems) -> PolicyBundle in
        var reader = BundleReader()
        let bundle = reader.bundle(PolicyReader.Place(node: root, pointer: ""))
        guard let bundle, reader.reader.problems.isEmpty else { throw reader.reader.problems }
        return bundle
      }
    }
  }

  fileprivate init(version: Int64, policies: [Policy], rollouts: [Rollout]) {
    self.version = version
    self.policies = policies
    self.rollouts = rollouts
  }
}

private struct BundleReader {
  var reader = PolicyReader()

  /// Nil only if there is a problem.
  mutating func bundle(_ place: PolicyReader.Place) -> PolicyBundle? {
    guard reader.isObject(place, may: ["description", "rollouts"], must: ["version", "policies"]) else { return nil }
    _ = reader.text(place["description"], most: 1024)
    let version = reader.integer(place["version"], in: 1...9_007_199_254_740_991)
    var policies: [PolicyBundle.Policy] = []
    for element in list(place["policies"]) {
      guard let policy = policy(element) else { continue }
      if policies.contains(where: { $0.name == policy.name }) {
        reader.problems.add(element.below("name"), "Another policy of this bundle has this name.")
      }
      policies.append(policy)
    }
    var rollouts: [PolicyBundle.Rollout] = []
    for element in list(place["rollouts"]) {
      guard let rollout = rollout(element, beside: policies) else { continue }
      if rollouts.contains(where: { $0.policy.name == rollout.policy.name }) {
        reader.problems.add(element.below("policy") + "/name", "Another rollout of this bundle has this name.")
      }
      rollouts.append(rollout)
    }
    return version.map { PolicyBundle(version: $0, policies: policies, rollouts: rollouts) }
  }

  private mutating func rollout(
    _ place: PolicyReader.Place, beside policies: [PolicyBundle.Policy]
  ) -> PolicyBundle.Rollout? {
    guard reader.isObject(place, may: ["shadow"], must: ["policy", "percentage", "key"]) else { return nil }
    let policy = place["policy"].flatMap { self.policy($0) }
    let percentage = reader.integer(place["percentage"], in: 0...100)
    let key = reader.text(place["key"], most: 64, "a text of 1 to 64 bytes") { (1...64).contains($0.utf8.count) }
    var isShadow = false
    if let shadow = place["shadow"] {
      if let value = shadow.node.bool {
        isShadow = value
      } else {
        reader.problems.add(shadow.pointer, "This must be true or false.")
      }
    }
    guard let policy, let percentage, let key else { return nil }
    if let old = policies.first(where: { $0.name == policy.name }), policy.document.version <= old.document.version {
      reader.problems.add(
        place.below("policy") + "/version",
        "The policy of this name has version \(old.document.version) in this bundle, and a rollout brings a later one.")
    }
    return PolicyBundle.Rollout(policy: policy, percentage: Int(percentage), key: key, isShadow: isShadow)
  }

  private mutating func policy(_ place: PolicyReader.Place) -> PolicyBundle.Policy? {
    PolicyDocument(at: place, in: &reader).map { PolicyBundle.Policy(document: $0, written: RawJSON(place.node)) }
  }

  private mutating func list(_ place: PolicyReader.Place?) -> [PolicyReader.Place] {
    guard let place else { return [] }
    let elements = place.elements
    guard place.node.kind == .array, elements.count <= PolicyBundle.maximumPolicies else {
      reader.problems.add(place.pointer, "This must be a list of at most \(PolicyBundle.maximumPolicies).")
      return []
    }
    return elements
  }
}
