import AgentModel
import AuditExport
import Testing

/// `ExportEntry` and `Disclosure`.
@Suite struct DisclosureTests {
  static let entry = ExportEntry(
    #"""
    {"sequence":7,"at":"2030-01-02T03:04:05.678Z","event":"request.send","outcome":"deny",
     "account":"acc_c2ztq4xk7m3vwy5ndhb6rfgupa","client":"alice's mail","count":3,
     "firstAt":"2030-01-02T03:04:05.678Z","lastAt":"2030-01-02T03:05:00.000Z",
     "facts":{"origin":"https://api.example","method":"GET","grantee":"alice's mail","program":"alice-tool",
       "pattern":"https://git.example/alice/*","issuer":"https://idp.example/tenants/acme","policyVersion":4,"new":true,
       "provider":"alice@idp","future":"alice","list":["alice"]}}
    """#)

  @Test func entry_isReadWhole() throws {
    let entry = try #require(Self.entry)
    #expect(entry.sequence == 7)
    #expect(entry.at.rfc3339 == "2030-01-02T03:04:05.678Z")
    #expect(entry.count == 3)
    #expect(entry.lastAt?.rfc3339 == "2030-01-02T03:05:00.000Z")
    #expect(entry.facts.count == 11)
    #expect(entry.facts.first { $0.name == "policyVersion" }?.value == .integer(4))
    #expect(entry.facts.first { $0.name == "new" }?.value == .flag(true))
  }

  @Test(
    arguments: [
      "{}", "[]", #"{"sequence":0,"at":"2030-01-01T00:00:00.000Z","event":"a","outcome":"ok"}"#,
      #"{"sequence":1,"at":"2030-01-01","event":"a","outcome":"ok"}"#,
      #"{"sequence":1,"at":"2030-13-01T00:00:00.000Z","event":"a","outcome":"ok"}"#,
    ])
  func otherJSON_isNoEntry(json: String) { #expect(ExportEntry(json) == nil) }

  @Test func withoutNames_noNameOfAPersonLeavesTheMachine() throws {
    let names = AccountNames(
      alias: "alice", subject: "alice", displayName: "alice", email: "alice@example", tenant: "acme")
    let record = Disclosure.plain(names: false).record(.entry(try #require(Self.entry)), log: 1) { _ in names }
    let all = (record.fields + record.facts).map(\.value.text) + [record.message, record.event]
    for text in all {
      #expect(!text.contains("alice"), "\(text)")
      #expect(!text.contains("acme"), "\(text)")
    }
    func fact(_ name: String) -> String? { record.facts.first { $0.name == name }?.value.text }
    #expect(fact("origin") == "https://api.example")
    #expect(fact("issuer") == "https://idp.example")
    #expect(fact("method") == "GET")
    #expect(fact("policyVersion") == "4")
    // The same name has the same id.
    #expect(fact("grantee") == record.fields.first { $0.name == "client" }?.value.text)
    #expect(record.fields.first { $0.name == "account" }?.value.text == "acc_c2ztq4xk7m3vwy5ndhb6rfgupa")
    #expect(!record.fields.contains { $0.name.hasPrefix("accountA") || $0.name == "accountEmail" })
  }

  @Test(
    arguments: [
      ("deny", "unknownCapability", ["capability"]), ("deny", "policyError", ["capability"]),
      ("deny", "missingRole", []),
      ("originNotAllowed", "", ["capability", "origin"]), ("allow", "allowed", []),
    ])
  func withoutNames_whatAProgramAloneChoseGoesByAnId(outcome: String, reason: String, hidden: [String]) throws {
    var entry = ExportEntry(
      sequence: 1, at: Timestamp(milliseconds: 0), event: "request.authorize", outcome: outcome)
    entry.facts = [
      .init("capability", .text("files.alice")), .init("origin", .text("https://alice.example")),
      .init("reason", .text(reason)),
    ]
    for names in [false, true] {
      let facts = Disclosure.plain(names: names).record(.entry(entry), log: 1) { _ in nil }.facts
      #expect(facts.filter { $0.value.text.hasPrefix("nam_") }.map(\.name) == (names ? [] : hidden))
    }
  }

  @Test func withNames_namesOfTheAccountAreThere() throws {
    let names = AccountNames(alias: "work", subject: "sub-1", displayName: nil, email: "alice@example", tenant: nil)
    let record = Disclosure.plain(names: true).record(.entry(try #require(Self.entry)), log: 2) { _ in names }
    func field(_ name: String) -> String? { record.fields.first { $0.name == name }?.value.text }
    #expect(field("client") == "alice's mail")
    #expect(field("accountAlias") == "work")
    #expect(field("accountEmail") == "alice@example")
    #expect(field("accountName") == nil)
    #expect(field("log") == "2")
    #expect(record.facts.first { $0.name == "pattern" }?.value.text == "https://git.example/alice/*")
  }

  @Test func ownPrograms_keepTheirNames() throws {
    var entry = ExportEntry.numbered(1)
    entry.client = "lanyard-mcp"
    let record = Disclosure.plain(names: false).record(.entry(entry), log: 1) { _ in nil }
    #expect(record.fields.first { $0.name == "client" }?.value.text == "lanyard-mcp")
  }

  @Test func droppedEntries_areCountedInTheRecord() {
    let item = ExportItem.dropped(first: 11, last: 20, at: Timestamp(milliseconds: 0))
    let record = Disclosure.plain(names: false).record(item, log: 1) { _ in nil }
    #expect(record.event == "audit.dropped")
    #expect(record.severity == .warning)
    #expect(record.fields.first { $0.name == "sequence" }?.value == .integer(20))
    #expect(record.fields.first { $0.name == "count" }?.value == .integer(10))
    #expect(record.message == "audit.dropped: 10 entries left the log before they could be exported")
  }
}
