internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentRecords
internal import AgentStore
internal import Secrets

/// The raw answers that `ExchangeMachine` refers to by their requests, in guarded memory until they are no longer needed.
/// Each may hold the only live refresh token. A part of `Account`, to which its functions that wait are isolated.
final class ReceivedAnswers {
  /// By the nonce of the request.
  private var answers: [[UInt8]: ReceivedAnswer] = [:]

  subscript(request: ExchangeIntent) -> ReceivedAnswer? {
    get { answers[request.nonce] }
    set { answers[request.nonce] = newValue }
  }

  /// Wipes all other answers.
  func keep(only needed: Set<[UInt8]>) { answers = answers.filter { needed.contains($0.key) } }

  /// Stores the raw answer before it is read.
  func stage(_ answer: ExchangeIntent, of account: isolated Account) async -> ExchangeMachine.Staging {
    guard let received = self[answer] else { return .storeFailed }
    do throws(AgentFailure) {
      switch try await account.journal.stage(received.body, for: answer, of: received.origin) {
      case .staged: return .staged
      case .dropped: return .dropped
      case .overtaken: return .overtaken
      }
    } catch {
      account.noteStoreError(error)
      return .storeFailed
    }
  }

  /// Revokes the tokens of an answer for another identity, and the refresh token that was sent for it.
  ///
  /// - Parameter sent: the run's own copy: a disabled account keeps none in memory. Nil after a restart.
  func disown(_ answer: ExchangeIntent, sent: Secret?, of account: isolated Account) async {
    let spent = sent ?? account.loaded?.grant.refreshToken
    let origin = self[answer]?.origin
    await revoke(answer, isOfAnother: true, of: account)
    guard let spent, let origin else { return }
    await account.lateTokens.revoke(OvertakenToken(refreshToken: spent, isOfAnother: true), of: origin)
  }

  func revoke(_ answer: ExchangeIntent, isOfAnother: Bool = false, of account: isolated Account) async {
    guard let received = self[answer], let token = received.refreshToken else { return }
    await account.lateTokens.revoke(OvertakenToken(refreshToken: token, isOfAnother: isOfAnother), of: received.origin)
  }
}
