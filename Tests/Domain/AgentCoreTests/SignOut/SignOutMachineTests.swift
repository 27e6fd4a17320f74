import AgentCore
import Testing

/// `SignOutMachine` keeps the order of a sign-out.
@Suite struct SignOutMachineTests {
  typealias Machine = SignOutMachine

  private static let refreshToken: Machine.Entry = [1]
  private static let accessToken: Machine.Entry = [2]
  private static let held: Machine.Entry = [3]

  private func departure(
    _ entries: [Machine.Entry] = [refreshToken], wasActive: Bool = false, isErased: Bool = false
  ) -> Machine.Departure {
    Machine.Departure(wasActive: wasActive, entries: entries, isErased: isErased)
  }

  /// A machine after the durable sign-out and the refusal of the waiters.
  private func released(_ mode: SignOutMode, _ departure: Machine.Departure) -> Machine {
    var machine = Machine(mode)
    _ = machine.committed(departure) + machine.released()
    return machine
  }

  // MARK: durable first

  @Test(arguments: SignOutMode.allCases) func signOut_publishesNothingBeforeItIsDurable(_ mode: SignOutMode) {
    var machine = Machine(mode)
    #expect(machine.state == .committing)
    #expect(machine.committed(departure()) == [])
    #expect(machine.state == .releasing(departure()))
  }

  @Test(arguments: SignOutMode.allCases) func failedTransaction_endsTheSignOut(_ mode: SignOutMode) {
    var machine = Machine(mode)
    #expect(machine.refused() == [])
    #expect(machine.state == .failed)
  }

  @Test func stateEvent_comesWithTheRefusalOfTheWaiters() {
    var machine = Machine(.soft)
    _ = machine.committed(departure())
    #expect(machine.released() == [.tellState])
    #expect(machine.state == .releasingHeldAnswer(departure()))
  }

  @Test func signOutOfTheActiveAccount_reportsThatNoneIsActive() {
    var machine = Machine(.soft)
    _ = machine.committed(departure(wasActive: true))
    #expect(machine.released() == [.tellState, .tellSwitched])
  }

  // MARK: tokens

  @Test(arguments: [SignOutMode.soft, .hard]) func firstEntry_isRevokedBeforeTheOthers(_ mode: SignOutMode) {
    let left = departure([Self.refreshToken, Self.accessToken])
    var machine = released(mode, left)
    #expect(machine.releasedHeldAnswer(nil) == [])
    #expect(machine.state == .revoking([Self.refreshToken], left))
    #expect(machine.revoked(.confirmed).first == .send(Self.accessToken))
  }

  @Test(arguments: [RevocationOutcome.confirmed, .queued, .refused, .unsupported])
  func answer_namesTheOutcomeOfTheFirstEntry(_ outcome: RevocationOutcome) {
    var machine = released(.soft, departure())
    _ = machine.releasedHeldAnswer(nil)
    let ended = Machine.Outcome(data: .sealed, revocation: outcome)
    #expect(machine.revoked(outcome) == [.tellSignedOut(ended), .tellErased])
    #expect(machine.state == .signedOut(ended))
  }

  @Test func slowRevocation_isQueued() {
    var machine = released(.soft, departure())
    _ = machine.releasedHeldAnswer(nil) + machine.revoked(nil)
    #expect(machine.state == .signedOut(Machine.Outcome(data: .sealed, revocation: .queued)))
  }

  @Test(arguments: SignOutMode.allCases) func signOutWithoutTokens_revokesNothing(_ mode: SignOutMode) {
    var machine = released(mode, departure([]))
    _ = machine.releasedHeldAnswer(nil)
    let data: DataDisposition = mode == .hard ? .erasurePending : .sealed
    #expect(machine.state == .signedOut(Machine.Outcome(data: data, revocation: .notNeeded)))
  }

  @Test func tokenOfAHeldAnswer_isRevokedBesideTheOthers() {
    var machine = released(.soft, departure())
    #expect(machine.releasedHeldAnswer(Self.held) == [.send(Self.held)])
    #expect(machine.state == .revoking([Self.refreshToken], departure()))
  }

  @Test func tokenOfAHeldAnswerAlone_isRevokedAndTheOutcomeIsNotNeeded() {
    var machine = released(.soft, departure([]))
    let ended = Machine.Outcome(data: .sealed, revocation: .notNeeded)
    #expect(machine.releasedHeldAnswer(Self.held) == [.send(Self.held), .tellSignedOut(ended), .tellErased])
  }

  // MARK: earlier grants

  @Test(arguments: [SignOutMode.soft, .hard]) func theTokensOfEarlierGrantsAreRevokedWithTheFirstEntry(
    _ mode: SignOutMode
  ) {
    var left = departure()
    left.earlier = [[4], [5]]
    var machine = released(mode, left)
    _ = machine.releasedHeldAnswer(nil)
    #expect(machine.state == .revoking([Self.refreshToken, [4], [5]], left))
  }

  @Test func theTokenOfAnEarlierGrantAloneIsRevoked() {
    var left = departure([])
    left.earlier = [[4]]
    var machine = released(.soft, left)
    _ = machine.releasedHeldAnswer(nil)
    #expect(machine.state == .revoking([[4]], left))
  }

  @Test func offlineTheTokensOfEarlierGrantsStayQueued() {
    var left = departure([])
    left.earlier = [[4]]
    var machine = released(.offline, left)
    _ = machine.releasedHeldAnswer(nil) + machine.queued()
    #expect(machine.state == .signedOut(Machine.Outcome(data: .sealed, revocation: .queued)))
  }

  @Test func severalTokensAreConfirmedOnlyIfAllAre() {
    #expect(RevocationOutcome.joined([.confirmed, .confirmed]) == .confirmed)
    #expect(RevocationOutcome.joined([.confirmed, .queued]) == .queued)
    #expect(RevocationOutcome.joined([.unsupported, .queued]) == .unsupported)
    #expect(RevocationOutcome.joined([]) == .notNeeded)
  }

  // MARK: offline

  @Test func offlineSignOut_sendsNoEntry() {
    let left = departure([Self.refreshToken, Self.accessToken])
    var machine = released(.offline, left)
    #expect(machine.releasedHeldAnswer(Self.held) == [])
    #expect(machine.state == .postponing(Self.held, left))
    #expect(machine.postponed() == [])
    #expect(machine.state == .queueing(left))
    let ended = Machine.Outcome(data: .sealed, revocation: .queued)
    #expect(machine.queued() == [.tellSignedOut(ended), .tellErased])
    #expect(machine.state == .signedOut(ended))
  }

  @Test(arguments: SignOutMode.allCases)
  func demandedHardSignOut_erasesAndStaysOfflineWhereAsked(_ asked: SignOutMode) {
    var machine = Machine(asked, isHardDemanded: true)
    #expect(machine.mode == .hard)
    let left = departure()
    _ = machine.committed(left) + machine.released() + machine.releasedHeldAnswer(nil)
    #expect(machine.state == (asked == .offline ? .queueing(left) : .revoking([Self.refreshToken], left)))
    _ = machine.queued() + machine.revoked(.confirmed)
    let revocation: RevocationOutcome = asked == .offline ? .queued : .confirmed
    #expect(machine.state == .signedOut(Machine.Outcome(data: .erasurePending, revocation: revocation)))
  }

  // MARK: data

  @Test(arguments: [
    (SignOutMode.soft, false, DataDisposition.sealed), (.soft, true, .sealed), (.offline, false, .sealed),
    (.hard, false, .erasurePending), (.hard, true, .erased),
  ])
  func dataDisposition_followsModeAndErasure(_ mode: SignOutMode, _ isErased: Bool, _ data: DataDisposition) {
    var machine = released(mode, departure([], isErased: isErased))
    _ = machine.releasedHeldAnswer(nil)
    #expect(machine.state == .signedOut(Machine.Outcome(data: data, revocation: .notNeeded)))
  }

  // MARK: reports for another state

  @Test func reportForAnotherState_changesNothing() {
    var machine = Machine(.soft)
    let before = machine
    #expect(machine.released() == [])
    #expect(machine.releasedHeldAnswer(Self.held) == [])
    #expect(machine.postponed() == [])
    #expect(machine.queued() == [])
    #expect(machine.revoked(.confirmed) == [])
    #expect(machine == before)
  }

  @Test func repeatedOutcome_isReportedOnce() {
    var machine = released(.soft, departure())
    _ = machine.releasedHeldAnswer(nil) + machine.revoked(nil)
    let before = machine
    #expect(machine.revoked(.confirmed) == [])
    #expect(machine.committed(departure()) == [])
    #expect(machine.refused() == [])
    #expect(machine == before)
  }
}
