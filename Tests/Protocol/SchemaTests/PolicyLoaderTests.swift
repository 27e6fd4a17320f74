import AgentCore
import Foundation
import SchemaKit
import Testing

/// The agent's policy reader agrees with `policy.schema.json` in both directions: each member, word, bound and pattern.
struct PolicyLoaderTests {
  /// A document with every member that a policy may have.
  private static let whole = """
    {"name":"p","version":3,"description":"words","onReauthentication":"readOnly","onClockSuspect":"shrink",
     "tiers":{"t":{"sensitivity":"internal","requires":{"rolesAny":["a"],"rolesAll":["b"],"scopesAll":["c"],
                   "entitlementsAll":["d"]},"offlineWindowSeconds":60,"token":"any","onlineWithinSeconds":60,
                   "stepUp":{"method":"pin","maxAgeSeconds":60},"snapshotMaxAgeSeconds":60,
                   "onReauthentication":"deny","onClockSuspect":"deny","obligations":["e"]}},
     "capabilities":{"abc":{"tier":"t","kind":"read","description":"words","sensitivity":"internal",
                   "requires":{"rolesAny":["a"],"rolesAll":["b"],"scopesAll":["c"],"entitlementsAll":["d"]},
                   "offlineWindowSeconds":60,"token":"fresh","onlineWithinSeconds":60,
                   "stepUp":{"method":"pin","maxAgeSeconds":60},"snapshotMaxAgeSeconds":60,
                   "onReauthentication":"deny","onClockSuspect":"deny","obligations":["e"]}},
     "forbids":[{"capabilities":["abc"],"whenRole":"a","whenScope":"b","whenEntitlement":"c","description":"words"}]}
    """

  /// The reader's problems, without references to missing names, which a schema can't express.
  private static func readersProblems(_ document: JSONValue) -> [String] {
    do throws(PolicyProblems) {
      _ = try PolicyDocument(parsing: Array(document.compact.utf8))
      return []
    } catch {
      return error.list.filter { !$0.text.contains("of this name in") }.map { "\($0.pointer): \($0.text)" }
    }
  }

  private static func compare(_ document: JSONValue) {
    let schemas = RepositoryFixture.contract.problems(inPolicy: document).map { "\($0)" }
    let readers = readersProblems(document)
    #expect(schemas.isEmpty == readers.isEmpty, "schema: \(schemas), reader: \(readers)")
  }

  @Test func policyReader_agreesWithTheSchemaOnEveryVariant() throws {
    let whole = try JSONValue(parsing: Self.whole)
    #expect(Self.readersProblems(whole) == [] && RepositoryFixture.contract.problems(inPolicy: whole).isEmpty)
    let schema = RepositoryFixture.contract.policy
    let shape = try #require(schema.shape)
    var compared = 0
    func compare(_ document: JSONValue) {
      Self.compare(document)
      compared += 1
    }
    for variant in Spoiling.variants(of: whole, by: schema) { compare(variant) }
    for (map, name) in [("tiers", "t"), ("capabilities", "abc")] {
      let values = try #require(shape.members.first { $0.name == map }?.schema.values)
      for variant in Spoiling.variants(of: try #require(whole[map]?[name]), by: values) {
        var document = whole
        document[at: "/\(map)/\(name)"] = variant
        compare(document)
      }
      for key in [
        "", "a b", "ü", ".a", "a.", "A_b-c.d", "a:b", String(repeating: "a", count: 64),
        String(repeating: "a", count: 65), String(repeating: "a", count: 128), String(repeating: "a", count: 129),
      ] {
        var document = whole
        document[at: "/\(map)"] = .object([JSONMember(key, try #require(whole[map]?[name]))])
        compare(document)
      }
    }
    for variant in Spoiling.variants(
      of: try #require(whole["forbids"]?.elements?.first),
      by: try #require(
        shape.members.first { $0.name == "forbids" }?.schema.items))
    {
      var document = whole
      document[at: "/forbids"] = .array([variant])
      compare(document)
    }
    #expect(compared > 900, "the whole schema is walked: \(compared)")
  }

  @Test(arguments: ["field-service", "hospital", "contractor"])
  func examplePolicy_isAcceptedByReaderAndSchema(name: String) throws {
    let file = RepositoryFixture.top.appending(path: "Schemas/examples/\(name).policy.json")
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    let example = try JSONValue(parsing: text)
    #expect(Self.readersProblems(example) == [] && RepositoryFixture.contract.problems(inPolicy: example).isEmpty)
    if name == "field-service" {
      #expect(example == (try JSONValue(parsing: PolicyTests.fieldService)), "the same example")
    }
  }
}

extension Schema {
  fileprivate var shape: ObjectShape? { RepositoryFixture.contract.resolved(self).object }

  fileprivate var values: Schema? {
    if case .map(let shape) = RepositoryFixture.contract.resolved(self).kind { shape.values } else { nil }
  }

  fileprivate var items: Schema? {
    if case .array(let shape) = RepositoryFixture.contract.resolved(self).kind { shape.items } else { nil }
  }
}
