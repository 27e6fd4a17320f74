import AgentModel
import AgentStore
import Testing

@Suite struct PassphraseMessageTests {
  private func message(_ failure: PassphraseFailure) -> String { AgentFailure.passphrase(failure).message }

  @Test func passphraseInThePause_isToldToBeUntried_withTheWaitRoundedUp() {
    let expected = "Too many wrong passphrases: this one was not tried. Try again in 2 s."
    #expect(message(.notTried(retryAfter: Milliseconds(1_001))) == expected)
    #expect(AgentFailure.backup(BackupFailure.passphraseNotTried(retryAfter: .seconds(2))).message == expected)
    #expect(message(.notTried(retryAfter: Milliseconds(20))).hasSuffix("Try again in 1 s."))
  }

  @Test func wrongPassphrase_tellsThePauseThatItBegins() {
    let wrong = "This does not open the vault. Nothing was changed. Try again."
    #expect(message(.wrong(retryAfter: Milliseconds(1))) == wrong)
    #expect(message(.wrong(retryAfter: .seconds(1))).hasSuffix("Try again in 1 s."))
    let backup = AgentFailure.backup(BackupFailure.wrongPassphrase(retryAfter: .seconds(8))).message
    #expect(backup == "This passphrase does not open the backup. Nothing was changed. Try again in 8 s.")
  }

  @Test func bothAreOneErrorOfTheContract() {
    for failure in [PassphraseFailure.wrong(retryAfter: .seconds(1)), .notTried(retryAfter: .seconds(1))] {
      #expect(AgentFailure.passphrase(failure).kind == .unlockFailed)
      #expect(AgentFailure.passphrase(failure).retryAfter == .seconds(1))
    }
  }
}
