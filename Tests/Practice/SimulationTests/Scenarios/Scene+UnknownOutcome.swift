import AgentSimulation
import PracticeProvider
import Testing

/// The commits of a refresh, counted from its beginning.
enum Journal {
  static let claim = 1
  static let intent = 2
  static let mark = 3
  static let staged = 4
  static let kept = 5
}

extension Scene {
  /// The account was loaded, and no request of it is in doubt.
  func hasNoDoubt(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let session = try await session()
    #expect(session["state"] != "reauthenticationRequired", "\(session)", sourceLocation: sourceLocation)
    #expect(
      session.json["result", "refresh", "phase"]?.stringValue != "inDoubt", "\(session)",
      sourceLocation: sourceLocation)
  }

  /// Expects an unknown outcome: the refresh token is not sent again, one event asks for a sign-in, over any requests
  /// and restarts, and a sign-in ends it.
  func expectUnknownOutcome(sent: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    var told = 0
    for round in 0..<2 {
      let witness = try await Witness.at(world)
      for method in ["token.get", "token.refresh", "token.get"] {
        let answer = try await token(method: method)
        answer.isExpected(2004, reason: "outcomeUnknown", account: account, sourceLocation: sourceLocation)
      }
      let session = try await session()
      #expect(session["state"] == "reauthenticationRequired", "\(session)", sourceLocation: sourceLocation)
      #expect(
        session.json["result", "refresh", "phase"]?.stringValue == "inDoubt", "\(session)",
        sourceLocation: sourceLocation)
      told += witness.expiries.count
      #expect(witness.expiries.allSatisfy { $0 == "outcomeUnknown" }, sourceLocation: sourceLocation)
      if round == 0 { try await world.restart() }
    }
    #expect(told == 1, "the person is told once", sourceLocation: sourceLocation)
    #expect(refreshes.count == sent, "it is never sent again by itself", sourceLocation: sourceLocation)
    #expect(idp.endOfGrant(grant) == nil, sourceLocation: sourceLocation)

    try await signsInAgain(sourceLocation: sourceLocation)
  }

  /// The person signs in again: the account works, and subscribers see `states`.
  func signsInAgain(telling states: [String] = ["active"], sourceLocation: SourceLocation = #_sourceLocation)
    async throws
  {
    let witness = try await Witness.at(world)
    #expect(try await world.signIn("alice", at: provider, again: account) == account, sourceLocation: sourceLocation)
    let answer = try await token()
    #expect(works(answer), "\(answer)", sourceLocation: sourceLocation)
    #expect(try await session()["state"] == "active", sourceLocation: sourceLocation)
    #expect(witness.states == states, sourceLocation: sourceLocation)
    #expect(witness.expiries == [], sourceLocation: sourceLocation)
  }
}
