import AgentModel
import AgentPorts
import AgentSimulation
import PracticeProvider
import Testing

/// Token answers that are cut in their body, at a provider that ends the grant at the first reuse (docs/tokens.md,
/// Unknown outcome).
@Suite struct CutAnswerTests {
  /// How many bytes of the answer arrive, relative to the ends of the refresh token's string and of the JSON text.
  enum Cut: CaseIterable { case beforeTheRefreshToken, insideIt, beforeItsQuote, afterIt, beforeTheEnd, whole }

  private static func bytes(_ cut: Cut, of body: String) -> Int {
    let name = #""refresh_token":""#
    guard let start = body.utf8.indices.first(where: { body.utf8[$0...].starts(with: name.utf8) }) else { return -1 }
    let offset = body.utf8.distance(from: body.startIndex, to: start) + name.utf8.count
    let length = body.utf8.dropFirst(offset).prefix { $0 != UInt8(ascii: "\"") }.count
    return switch cut {
    case .beforeTheRefreshToken: offset - name.utf8.count
    case .insideIt: offset + length / 2
    case .beforeItsQuote: offset + length
    case .afterIt: offset + length + 1
    case .beforeTheEnd: body.utf8.count - 1
    case .whole: body.utf8.count
    }
  }

  @Test(arguments: [HTTPOutcome.LostResponse.reset, .timedOut], [Cut.afterIt, .beforeTheEnd, .whole])
  func cutAfterTheRefreshToken_keepsTheSession(lost: HTTPOutcome.LostResponse, cut: Cut) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .cutAnswer(lost) { Self.bytes(cut, of: $0) })
      #expect(scene.works(try await scene.token()))
      let sent = scene.refreshes.map(\.refreshToken)
      #expect(sent.first == scene.firstRefreshToken && Set(sent).count == sent.count, "no token is sent twice")
      #expect(sent.count == (cut == .whole ? 1 : 2), "the successor brings what was cut off")
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
      try await scene.livesOn()
    }
  }

  /// Half of a token is none: the outcome is unknown, and nothing is sent.
  @Test(
    arguments: [HTTPOutcome.LostResponse.reset, .timedOut], [Cut.beforeTheRefreshToken, .insideIt, .beforeItsQuote])
  func cutBeforeTheEndOfTheRefreshToken_isAnUnknownOutcome(lost: HTTPOutcome.LostResponse, cut: Cut) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .cutAnswer(lost) { Self.bytes(cut, of: $0) })
      try await scene.token().isExpected(2004, reason: "outcomeUnknown", account: scene.account)
      await world.clock.sleep(for: .seconds(100_000))
      #expect(try await scene.token().code == 2004)
      #expect(scene.refreshes.count == 1)
      #expect(scene.idp.endOfGrant(scene.grant) == nil)
    }
  }

  /// The answer is staged as any other: a crash after that goes on with it.
  @Test(arguments: [Cut.afterIt, .whole]) func crashAfterTheCutAnswerWasStaged_keepsTheSession(cut: Cut) throws {
    try scenario { world in
      let scene = try await Scene.signedIn(world)
      await scene.expireUnused()
      world.network.next("/token", .cutAnswer(.reset) { Self.bytes(cut, of: $0) })
      world.crash(at: .after(Journal.staged))
      #expect(try await scene.token().isLost)
      try await world.restart()
      #expect(scene.works(try await scene.token()))
      let sent = scene.refreshes.map(\.refreshToken)
      #expect(Set(sent).count == sent.count, "no token is sent twice")
      try await scene.livesOn()
    }
  }
}
