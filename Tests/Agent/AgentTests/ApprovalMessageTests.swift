import AgentModel
import AgentStore
import Testing

@Suite struct ApprovalMessageTests {
  @Test("A request without a yes may be a redirect's target: the first request was sent, and no message denies that")
  func missingYes_doesNotSayThatNothingWasSent() throws {
    let account = try #require(AccountID(bytes: [UInt8](repeating: 1, count: 16)))
    for refusal in [ApprovalRefusal.declined(left: .seconds(60)), .notApproved] {
      let message = AgentFailure.unapproved(refusal, account).message
      #expect(message.contains("It was not sent, or its redirect was not followed"))
      #expect(!message.contains("Nothing was sent"))
    }
  }
}
