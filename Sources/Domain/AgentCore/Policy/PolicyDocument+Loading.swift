internal import AgentModel
public import JSONRPC

/// Strict parsing: an unknown member is a problem (docs/offline.md, Policy).
extension PolicyDocument {
  static let mostTiers = 64
  static let mostCapabilities = 1024
  static let mostForbids = 256
  static let mostRequestRules = 64
  static let mostBudget: Int64 = 1_000_000
  /// What JSON carries without loss.
  static let latestVersion: Int64 = 1 << 53 - 1
  /// In seconds: a program that waits longer has mostly given up.
  static let longestApprovalWait: Int64 = 300

  /// Parses a document of `Schemas/policy.schema.json`.
  ///
  /// `expectedName` is the name under which the policy is stored; a different `name` in the document is a problem.
  ///
  /// - Throws: `PolicyProblems` with every problem of the document.
  public init(reading root: JSONNode, expectedName: String? = nil) throws(PolicyProblems) {
    var loader = PolicyLoader()
    let document = loader.document(PolicyReader.Place(node: root, pointer: ""), expectedName: expectedName)
    guard let document, loader.reader.problems.isEmpty else { throw loader.reader.problems }
    self = document
  }

  /// Parses the bytes of a file, as `init(reading:expectedName:)`.
  ///
  /// - Throws: `PolicyProblems` with every problem of the document.
  public init(parsing bytes: [UInt8], expectedName: String? = nil) throws(PolicyProblems) {
    self = try bytes.withUnsafeBufferPointer { (bytes) throws(PolicyProblems) -> PolicyDocument in
      let bytes = UnsafeRawBufferPointer(bytes)
      var tape = JSONTape()
      do throws(JSONScanner.Failure) { try JSONScanner.scan(bytes, onto: &tape) } catch {
        throw PolicyProblems(error)
      }
      return try tape.withRoot(of: bytes) { (root) throws(PolicyProblems) -> PolicyDocument in
        try PolicyDocument(reading: root, expectedName: expectedName)
      }
    }
  }

  /// Reads a document that stands in another one, whose reader gets its problems. Nil only with a problem.
  init?(at place: PolicyReader.Place, in reader: inout PolicyReader) {
    var loader = PolicyLoader(reader: reader)
    defer { reader = loader.reader }
    guard let document = loader.document(place, expectedName: nil) else { return nil }
    self = document
  }

  /// True for a valid policy name: 1 to 64 letters, digits, `.`, `_` or `-`, starting with a letter or digit.
  public static func isName(_ text: String) -> Bool { isWord(text, most: 64, also: "._-") }

  /// True for a valid capability name: as a policy name, with `:` allowed and up to 128 characters.
  public static func isCapability(_ text: String) -> Bool { isWord(text, most: 128, also: "._:-") }

  private static func isWord(_ text: String, most: Int, also marks: String) -> Bool {
    func isPlain(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: false
      }
    }
    guard let first = text.utf8.first, isPlain(first), text.utf8.count <= most else { return false }
    return text.utf8.allSatisfy { isPlain($0) || marks.utf8.contains($0) }
  }
}

/// The members that tiers and capabilities share; nil where a member is absent.
private struct Conditions {
  var sensitivity: Sensitivity?
  var requires = Capability.Requirements()
  var offlineWindow: Milliseconds?
  var token: Capability.TokenRule?
  var onlineWithin: Milliseconds?
  var stepUp: Capability.StepUpRule?
  var approvalWait: Milliseconds?
  var budgetPerHour: Int64?
  var snapshotMaxAge: Milliseconds?
  var onReauthentication: Capability.ReauthenticationRule?
  var onClockSuspect: Capability.SuspectClockRule?
  var obligations: [String]?
  var audit: Capability.AuditRule?

  static let names = [
    "sensitivity", "requires", "offlineWindowSeconds", "token", "onlineWithinSeconds", "stepUp", "approve",
    "budget",
    "snapshotMaxAgeSeconds", "onReauthentication", "onClockSuspect", "obligations", "audit",
  ]
}

private struct PolicyLoader {
  typealias Place = PolicyReader.Place

  var reader = PolicyReader()

  mutating func document(_ root: Place, expectedName: String?) -> PolicyDocument? {
    guard
      reader.isObject(
        root, may: ["description", "tiers", "forbids", "onReauthentication", "onClockSuspect"],
        must: ["name", "version", "capabilities"])
    else { return nil }
    let name = reader.text(root["name"], most: 64, "a name of letters, digits, `.`, `_` and `-`") {
      PolicyDocument.isName($0)
    }
    if let name, let expectedName, name != expectedName {
      reader.problems.add("/name", "The document's name differs from the name that it is set under.")
    }
    let version = reader.integer(root["version"], in: 1...PolicyDocument.latestVersion)
    _ = reader.text(root["description"], most: 1024)
    let tiers = tiers(root["tiers"])
    let defaults = Conditions(
      onReauthentication: reader.word(root["onReauthentication"], as: Capability.ReauthenticationRule.self),
      onClockSuspect: reader.word(root["onClockSuspect"], as: Capability.SuspectClockRule.self))
    var capabilities = capabilities(root["capabilities"], tiers: tiers, defaults: defaults)
    forbids(root["forbids"], into: &capabilities, declared: root["capabilities"])
    guard let name, let version else { return nil }
    return PolicyDocument(name: name, version: version, capabilities: capabilities)
  }

  private mutating func tiers(_ place: Place?) -> [String: Conditions] {
    guard let place, let members = map(place, most: PolicyDocument.mostTiers) else { return [:] }
    var tiers: [String: Conditions] = [:]
    for (name, tier) in members {
      guard PolicyDocument.isName(name) else {
        reader.problems.add(tier.pointer, "A tier's name has letters, digits, `.`, `_` and `-`, at most 64.")
        continue
      }
      guard reader.isObject(tier, may: Conditions.names) else { continue }
      tiers[name] = conditions(tier)
    }
    return tiers
  }

  private mutating func capabilities(
    _ place: Place?, tiers: [String: Conditions], defaults: Conditions
  ) -> [String: Capability] {
    guard let place, let members = map(place, most: PolicyDocument.mostCapabilities) else { return [:] }
    var capabilities: [String: Capability] = [:]
    for (name, member) in members {
      guard PolicyDocument.isCapability(name) else {
        reader.problems.add(
          member.pointer, "A capability's name has letters, digits, `.`, `_`, `:` and `-`, at most 128.")
        continue
      }
      guard reader.isObject(member, may: ["tier", "description", "requests"] + Conditions.names, must: ["kind"]) else {
        continue
      }
      let kind = reader.word(member["kind"], as: Capability.Kind.self)
      _ = reader.text(member["description"], most: 1024)
      var tier = Conditions()
      if let named = reader.text(member["tier"], most: 64, "the name of a tier", where: PolicyDocument.isName) {
        if let found = tiers[named] {
          tier = found
        } else {
          reader.problems.add(member.below("tier"), "There is no tier of this name in `tiers`.")
        }
      }
      let own = conditions(member)
      let requests = requests(member["requests"])
      if let kind {
        capabilities[name] = capability(kind, own, tier, defaults)
        capabilities[name]?.requests = requests
      }
    }
    return capabilities
  }

  /// Resolves each member: the capability's value, else its tier's, else the document's.
  private func capability(
    _ kind: Capability.Kind, _ own: Conditions, _ tier: Conditions, _ defaults: Conditions
  ) -> Capability {
    var capability = Capability(kind: kind)
    capability.sensitivity = own.sensitivity ?? tier.sensitivity ?? capability.sensitivity
    capability.requires = Capability.Requirements(
      rolesAny: own.requires.rolesAny ?? tier.requires.rolesAny,
      rolesAll: own.requires.rolesAll ?? tier.requires.rolesAll,
      scopesAll: own.requires.scopesAll ?? tier.requires.scopesAll,
      entitlementsAll: own.requires.entitlementsAll ?? tier.requires.entitlementsAll)
    // A window of 0 s is none: with it a capability removes its tier's window.
    capability.offlineWindow = (own.offlineWindow ?? tier.offlineWindow).flatMap { $0 > .zero ? $0 : nil }
    capability.token = own.token ?? tier.token ?? capability.token
    capability.onlineWithin = own.onlineWithin ?? tier.onlineWithin
    capability.stepUp = own.stepUp ?? tier.stepUp
    capability.approvalWait = own.approvalWait ?? tier.approvalWait
    capability.budgetPerHour = own.budgetPerHour ?? tier.budgetPerHour
    capability.snapshotMaxAge = own.snapshotMaxAge ?? tier.snapshotMaxAge
    capability.onReauthentication =
      own.onReauthentication ?? tier.onReauthentication ?? defaults.onReauthentication ?? capability.onReauthentication
    capability.onClockSuspect =
      own.onClockSuspect ?? tier.onClockSuspect ?? defaults.onClockSuspect ?? capability.onClockSuspect
    capability.audit = own.audit ?? tier.audit
    capability.obligations = own.obligations ?? tier.obligations ?? []
    return capability
  }

  private mutating func conditions(_ place: Place) -> Conditions {
    var read = Conditions()
    read.sensitivity = reader.word(place["sensitivity"], as: Sensitivity.self)
    if let requires = place["requires"] { read.requires = requirements(requires) }
    read.offlineWindow = reader.seconds(place["offlineWindowSeconds"])
    read.token = reader.word(place["token"], as: Capability.TokenRule.self)
    read.onlineWithin = reader.seconds(place["onlineWithinSeconds"])
    if let stepUp = place["stepUp"] { read.stepUp = self.stepUp(stepUp) }
    if let approve = place["approve"], reader.isObject(approve, may: [], must: ["waitSeconds"]) {
      read.approvalWait = reader.seconds(approve["waitSeconds"], from: 1, to: PolicyDocument.longestApprovalWait)
    }
    if let budget = place["budget"], reader.isObject(budget, may: [], must: ["perHour"]) {
      read.budgetPerHour = reader.integer(budget["perHour"], in: 1...PolicyDocument.mostBudget)
    }
    read.snapshotMaxAge = reader.seconds(place["snapshotMaxAgeSeconds"])
    read.onReauthentication = reader.word(place["onReauthentication"], as: Capability.ReauthenticationRule.self)
    read.onClockSuspect = reader.word(place["onClockSuspect"], as: Capability.SuspectClockRule.self)
    read.audit = reader.word(place["audit"], as: Capability.AuditRule.self)
    read.obligations = reader.texts(place["obligations"], most: 32, ofLength: 128, "a text of 1 to 128 characters")
    return read
  }

  private mutating func requirements(_ place: Place) -> Capability.Requirements {
    let names = ["rolesAny", "rolesAll", "scopesAll", "entitlementsAll"]
    guard reader.isObject(place, may: names) else { return Capability.Requirements() }
    func texts(_ list: Place?) -> [String]? {
      reader.texts(list, most: 128, ofLength: 256, "a text of 1 to 256 characters")
    }
    return Capability.Requirements(
      rolesAny: texts(place["rolesAny"]), rolesAll: texts(place["rolesAll"]),
      scopesAll: reader.texts(
        place["scopesAll"], most: 128, ofLength: 256, "a scope (RFC 6749 §3.3)", where: Self.isScope),
      entitlementsAll: texts(place["entitlementsAll"]))
  }

  private mutating func stepUp(_ place: Place) -> Capability.StepUpRule? {
    guard reader.isObject(place, may: [], must: ["method", "maxAgeSeconds"]) else { return nil }
    let method = reader.word(place["method"], as: StepUpMethod.self)
    let maxAge = reader.seconds(place["maxAgeSeconds"], from: 1, to: 31_622_400)
    guard let method, let maxAge else { return nil }
    return Capability.StepUpRule(method: method, maxAge: maxAge)
  }

  private mutating func requests(_ place: Place?) -> [RequestRule] {
    guard let place else { return [] }
    let list = place.elements
    guard place.node.kind == .array, (1...PolicyDocument.mostRequestRules).contains(list.count) else {
      reader.problems.add(place.pointer, "This must be a list of 1 to \(PolicyDocument.mostRequestRules).")
      return []
    }
    return list.compactMap { request($0) }
  }

  private mutating func request(_ place: Place) -> RequestRule? {
    guard reader.isObject(place, may: [], must: ["origin", "methods", "path"]) else { return nil }
    let written = reader.text(
      place["origin"], most: 512, "an origin such as `https://api.example`: https, or http on a loopback host, no path"
    ) { RequestTarget.origin($0) != nil }
    let methods = reader.texts(
      place["methods"], most: 32, ofLength: 16, "a method in upper case, other than CONNECT and TRACE"
    ) { text in
      !text.isEmpty && text.utf8.allSatisfy { (0x41...0x5A).contains($0) } && RequestMachine.canAuthorize(text)
    }
    let path = reader.text(place["path"], most: 1024, "a path of at most 1024 characters")
    guard let path, let pointer = place["path"]?.pointer else { return nil }
    // The pattern's own problems do not hang on the origin.
    let origin = written.flatMap(RequestTarget.origin)
    do throws(RequestRule.Pattern.Refusal) {
      let pattern = try RequestRule.Pattern(path, at: origin ?? "https://origin.invalid")
      guard let origin, let methods else { return nil }
      return RequestRule(origin: origin, methods: Set(methods), path: pattern)
    } catch {
      reader.problems.add(pointer, "This must be \(error.expected).")
      return nil
    }
  }

  private mutating func forbids(_ place: Place?, into capabilities: inout [String: Capability], declared: Place?) {
    guard let place else { return }
    let list = place.elements
    guard place.node.kind == .array, list.count <= PolicyDocument.mostForbids else {
      return reader.problems.add(place.pointer, "This must be a list of at most \(PolicyDocument.mostForbids).")
    }
    let known = Set(declared?.members.map(\.key) ?? [])
    for item in list {
      guard
        reader.isObject(
          item, may: ["whenRole", "whenScope", "whenEntitlement", "description"], must: ["capabilities"])
      else { continue }
      _ = reader.text(item["description"], most: 1024)
      let forbid = Capability.Forbid(
        whenRole: reader.text(item["whenRole"], most: 256, "a role") { !$0.isEmpty },
        whenScope: reader.text(item["whenScope"], most: 256, "a scope (RFC 6749 §3.3)", where: Self.isScope),
        whenEntitlement: reader.text(item["whenEntitlement"], most: 256, "an entitlement") { !$0.isEmpty })
      guard let names = item["capabilities"] else { continue }
      let elements = names.elements
      guard names.node.kind == .array, (1...256).contains(elements.count) else {
        reader.problems.add(names.pointer, "This must be a list of 1 to 256.")
        continue
      }
      for element in elements {
        guard let name = reader.text(element, most: 128, "a capability's name", where: PolicyDocument.isCapability)
        else { continue }
        // A rule for an unknown capability would protect nothing, so it is a problem.
        guard known.contains(name) else {
          reader.problems.add(element.pointer, "There is no capability of this name in `capabilities`.")
          continue
        }
        capabilities[name]?.forbids.append(forbid)
      }
    }
  }

  private mutating func map(_ place: Place, most: Int) -> [(key: String, place: Place)]? {
    guard place.node.kind == .object else {
      reader.problems.add(place.pointer, "This must be an object.")
      return nil
    }
    let members = place.members
    guard members.count <= most else {
      reader.problems.add(place.pointer, "There may be at most \(most) of these.")
      return nil
    }
    return members
  }

  private static func isScope(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
  }
}
