import AgentCore
import AgentModel
internal import AgentRecords
import Secrets
import Testing

/// The stored form of the trusted time (docs/offline.md, Time).
@Suite struct TimeRecordTests {
  private let mark = Timestamp(year: 2030, month: 1, day: 1)

  @Test func linesComeBackAsStored() throws {
    let provider = TrustedTime.Record.Line(
      provider: ProviderName("idp"), mark: mark, wallOffset: .seconds(180),
      acceptances: [.init(at: .seconds(5), offset: .seconds(130)), .init(at: .seconds(60), offset: .seconds(180))],
      isAnchored: false)
    let machine = TrustedTime.Record.Line(
      provider: nil, mark: mark, wallOffset: .zero, toldBehind: .seconds(7), wasTold: true, isAnchored: true)
    let record = TrustedTime.Record(
      bootID: "boot-1", boot: BootInstant(milliseconds: 9), lived: .seconds(70), lines: [provider, machine])
    #expect(TrustedTime.Record(record.sealable) == record)
  }

  @Test func lineOfAnOlderVersion_isRead() throws {
    let text = """
      {"bootID":"boot-1","boot":9,"lived":70000,"lines":[{"provider":"idp","mark":\(mark.milliseconds),"wallOffset":180}]}
      """
    let record = try #require(TrustedTime.Record(Secret(text: text)))
    let line = TrustedTime.Record.Line(
      provider: ProviderName("idp"), mark: mark, wallOffset: Milliseconds(180), isAnchored: false)
    #expect(record.lines == [line])
  }
}
