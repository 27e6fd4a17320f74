import AgentCore
import AgentModel
internal import AgentRecords
import JSONRPC
import SecretJSON
import Secrets
import Testing

/// The stored form of an intent (docs/tokens.md, Journal).
@Suite struct ExchangeIntentRecordTests {
  private static let bootID = "boot-1"

  private static func intent(isLeaving: Bool, firstSent: ExchangeIntent.Sending? = nil) -> ExchangeIntent {
    ExchangeIntent(
      attempt: 4, epoch: 1, generation: 7, fingerprint: "token", wall: Timestamp(milliseconds: 1_000_000),
      bootID: bootID, boot: BootInstant(milliseconds: 2_000), key: .standard, isReplay: firstSent != nil,
      isLeaving: isLeaving, firstSent: firstSent, nonce: [1, 2, 3])
  }

  /// A record with the members that are no flags, and `more`.
  private static func record(_ more: (inout JSONWriter) -> Void) -> Secret {
    SecretJSON.write { writer in
      writer.member("attempt", Int64(4))
      writer.member("epoch", Int64(1))
      writer.member("generation", Int64(7))
      writer.member("wall", Int64(1_000_000))
      writer.member("boot", Int64(2_000))
      writer.member("fingerprint", "token")
      writer.member("bootID", bootID)
      more(&writer)
    }
  }

  /// What the account's machine reports when it finds `intent` in the journal, in the boot that wrote it.
  private static func recovered(_ intent: ExchangeIntent) -> [ExchangeMachine.Effect] {
    var machine = ExchangeMachine()
    machine.loaded(epoch: intent.epoch)
    return machine.recover(
      .intent(intent), generation: intent.generation, bootID: bootID, at: BootInstant(milliseconds: 9_000))
  }

  @Test(arguments: [true, false]) func intent_isReadAsItWasWritten(isLeaving: Bool) {
    let sending = ExchangeIntent.Sending(bootID: "boot-0", boot: BootInstant(milliseconds: 500))
    for intent in [Self.intent(isLeaving: isLeaving), Self.intent(isLeaving: isLeaving, firstSent: sending)] {
      #expect(ExchangeIntent(intent.record) == intent)
    }
  }

  @Test func recordThatDoesNotSayWhetherItsRequestLeft_isNotRead() {
    let isReplay: (inout JSONWriter) -> Void = { writer in
      writer.key("isReplay")
      writer.bool(false)
    }
    #expect(ExchangeIntent(Self.record(isReplay)) == nil)
    #expect(
      ExchangeIntent(
        Self.record { writer in
          isReplay(&writer)
          writer.member("isLeaving", "no")
        }) == nil)
  }

  @Test func intentWithoutItsMark_wasNeverSent() throws {
    let intent = try #require(ExchangeIntent(Self.intent(isLeaving: false).record))
    #expect(Self.recovered(intent) == [])
  }
}
