import AgentModel
import AuditExport
import JSONRPC
import Testing

/// `JournalFormat`, `SyslogFormat`, `OTLPFormat`, `OTLPAnswer` and `HeaderLines`.
@Suite struct FormatTests {
  private func record(_ facts: [ExportRecord.Field], event: String = "account.signOut") -> ExportRecord {
    ExportRecord(
      at: Timestamp(milliseconds: 1_893_456_000_123), severity: .info, event: event, message: "\(event): ok",
      fields: [.init("sequence", .integer(7)), .init("firstAt", .text("then"))], facts: facts)
  }

  @Test func journal_hasAFieldALine() {
    let bytes = JournalFormat.datagram(record([.init("policyVersion", .integer(4)), .init("new", .flag(true))]))
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        MESSAGE=account.signOut: ok
        PRIORITY=6
        SYSLOG_IDENTIFIER=lanyard
        SYSLOG_FACILITY=10
        LANYARD_EVENT=account.signOut
        LANYARD_AT=2030-01-01T00:00:00.123Z
        LANYARD_SEQUENCE=7
        LANYARD_FIRST_AT=then
        LANYARD_FACT_POLICY_VERSION=4
        LANYARD_FACT_NEW=true

        """)
  }

  @Test func valueWithANewline_beginsNoFieldOfItsOwn() throws {
    let bytes = JournalFormat.datagram(record([.init("program", .text("a\nPRIORITY=0\n"))]))
    let field = Array("LANYARD_FACT_PROGRAM\n".utf8) + [13, 0, 0, 0, 0, 0, 0, 0] + Array("a\nPRIORITY=0\n\n".utf8)
    #expect(bytes.suffix(field.count) == field[...])
  }

  @Test(
    arguments: [
      ("ä b=c", "LANYARD_FACT___B_C=x"), ("_", "LANYARD_FACT__=x"), ("", "LANYARD_FACT_=x"),
      ("requestURL", "LANYARD_FACT_REQUEST_U_R_L=x"),
    ])
  func nameOfAFact_becomesOneThatJournaldTakes(name: String, line: String) {
    let bytes = JournalFormat.datagram(record([.init(name, .text("x"))]))
    #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\n\(line)\n"))
  }

  @Test func longName_isCut() {
    let bytes = JournalFormat.datagram(record([.init(String(repeating: "a", count: 100), .text("x"))]))
    let name = String(decoding: bytes, as: UTF8.self).split(separator: "\n").last?.split(separator: "=").first
    #expect(name?.utf8.count == 64)
  }

  private func syslog(_ facts: [ExportRecord.Field], event: String = "account.signOut", host: String? = nil) -> String {
    String(decoding: SyslogFormat.message(record(facts, event: event), host: host, process: 42), as: UTF8.self)
  }

  @Test func syslog_isAMessageOfRFC5424() {
    #expect(
      syslog([.init("mode", .text("hard"))], host: "laptop")
        == "<86>1 2030-01-01T00:00:00.123Z laptop lanyard 42 account.signOut "
        + "[lanyard@32473 sequence=\"7\" firstAt=\"then\"][facts@32473 mode=\"hard\"] account.signOut: ok")
    #expect(syslog([]).contains("Z - lanyard 42 account.signOut [lanyard@32473 "))
    #expect(syslog([], host: "a b").contains("Z - lanyard"))
  }

  @Test(
    arguments: [
      (#"a"b\c]d"#, #"a\"b\\c\]d"#), ("a\nb\u{0}c", "a\u{FFFD}b\u{FFFD}c"), ("日本", "日本"), ("", ""),
      ("\u{2028}", "\u{FFFD}"),
    ])
  func valueInSyslog_isEscaped(value: String, shown: String) {
    #expect(syslog([.init("x", .text(value))]).contains("[facts@32473 x=\"\(shown)\"] "))
  }

  @Test func longValueInSyslog_isCutBetweenCharacters() {
    let text = syslog([.init("x", .text(String(repeating: "ä", count: 10_000)))])
    #expect(text.utf8.count < 2_048)
    #expect(text.contains("ä\u{2026}\"]"))
  }

  @Test func nameInSyslog_isAnSDName() {
    #expect(syslog([.init("a=b]c\" ä", .text("x"))]).contains("[facts@32473 a_b_c____=\"x\"]"))
    #expect(syslog([.init("", .text("x"))]).contains("[facts@32473 _=\"x\"]"))
  }

  @Test func messageThatIsNotASCII_hasAByteOrderMark() {
    #expect(syslog([], event: "ä").hasSuffix(" - [lanyard@32473 sequence=\"7\" firstAt=\"then\"] \u{FEFF}ä: ok"))
  }

  @Test func otlp_hasNumbersAsStringsAndAttributesInSnakeCase() throws {
    var writer = JSONWriter()
    OTLPFormat.write(
      [record([.init("policyVersion", .integer(4)), .init("new", .flag(true))])], agent: "agt_1", host: nil,
      version: "1", now: 5, to: &writer)
    let text = writer.withBytes { String(decoding: $0, as: UTF8.self) }
    #expect(
      text
        == #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"lanyard"}},"#
        + #"{"key":"service.version","value":{"stringValue":"1"}},"#
        + #"{"key":"service.instance.id","value":{"stringValue":"agt_1"}}]},"#
        + #""scopeLogs":[{"scope":{"name":"lanyard.audit","version":"1"},"logRecords":["#
        + #"{"timeUnixNano":"1893456000123000000","observedTimeUnixNano":"5000000","severityNumber":9,"severityText":"INFO","#
        + #""eventName":"account.signOut","body":{"stringValue":"account.signOut: ok"},"attributes":["#
        + #"{"key":"lanyard.event","value":{"stringValue":"account.signOut"}},"#
        + #"{"key":"lanyard.sequence","value":{"intValue":"7"}},{"key":"lanyard.first_at","value":{"stringValue":"then"}},"#
        + #"{"key":"lanyard.fact.policy_version","value":{"intValue":"4"}},"#
        + #"{"key":"lanyard.fact.new","value":{"boolValue":true}}]}]}]}]}"#)
  }

  private func answer(_ status: Int, _ retryAfter: String? = nil, _ body: String = "") -> OTLPAnswer {
    OTLPAnswer(
      status: status, retryAfter: retryAfter, body: Array(body.utf8), now: Timestamp(milliseconds: 1_893_456_000_000))
  }

  @Test(
    arguments: [
      ("", 0, nil), ("{}", 0, nil), (#"{"partialSuccess":{}}"#, 0, nil), ("<html>", 0, nil), ("[]", 0, nil),
      (#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}"#, 3, "too old"),
      (#"{"partialSuccess":{"rejectedLogRecords":3}}"#, 3, nil),
      (#"{"partialSuccess":{"rejectedLogRecords":"-3"}}"#, 0, nil),
    ] as [(String, Int64, String?)])
  func success_saysWhatWasRejected(body: String, rejected: Int64, message: String?) {
    #expect(answer(200, nil, body) == .taken(rejected: rejected, message: message))
  }

  @Test(
    arguments: [
      (nil, nil), ("7", .seconds(7)), ("0", .zero), ("-5", .zero), ("99999999", .seconds(3600)), ("soon", nil),
      ("Tue, 01 Jan 2030 00:00:30 GMT", .seconds(30)), ("Mon, 31 Dec 2029 00:00:00 GMT", .zero),
    ] as [(String?, Milliseconds?)])
  func busyReceiver_isAskedAgainAfterItsTime(field: String?, wait: Milliseconds?) {
    #expect(answer(429, field) == .later(status: 429, after: wait))
    #expect(answer(503, field) == .later(status: 503, after: wait))
  }

  @Test func otherStatuses_areToldApart() {
    for status in [500, 502, 504] { #expect(answer(status) == .later(status: status, after: nil)) }
    for status in [400, 413] { #expect(answer(status) == .refused(status: status)) }
    for status in [301, 307, 401, 403, 404, 405] { #expect(answer(status) == .misdirected(status: status)) }
  }

  private func headers(_ text: String) throws(HeaderLines.Problem) -> [String] {
    var (found, failure): ([String], HeaderLines.Problem?) = ([], nil)
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { bytes in
      do throws(HeaderLines.Problem) {
        try HeaderLines.read(bytes) { name, value in found.append("\(name)|\(String(decoding: value, as: UTF8.self))") }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return found
  }

  @Test func headerFile_isReadLineByLine() throws {
    #expect(try headers("") == [])
    #expect(try headers("Authorization: Bearer a:b=\r\nX-Scope:7\n") == ["Authorization|Bearer a:b=", "X-Scope|7"])
  }

  @Test(arguments: [("word", 1), ("A: b\n: c", 2), ("A:", 1), ("A B: c", 1), ("A: b\n\nC: d\u{1}e", 3)])
  func lineThatIsNoField_isNamed(text: String, line: Int) {
    #expect(throws: HeaderLines.Problem(line: line)) { try headers(text) }
  }
}
