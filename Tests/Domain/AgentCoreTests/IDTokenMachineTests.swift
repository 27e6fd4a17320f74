import AgentCore
import AgentModel
import Testing

/// Which ID token is the answer, and when a refresh is due (docs/identity.md, ID tokens).
struct IDTokenMachineTests {
  let start = Timestamp(milliseconds: 1_000_000)

  /// A token that lives 300 s from `start` on.
  func facts(_ serial: UInt64, after seconds: Int64 = 0, lives: Int64 = 300) -> IDTokenMachine.Facts {
    .init(serial: serial, expiresAt: start + .seconds(seconds + lives), lifetime: .seconds(lives))
  }

  func machine(_ token: IDTokenMachine.Facts, isVerified: Bool = true) -> IDTokenMachine {
    var machine = IDTokenMachine()
    machine.brought(token, isVerified: isVerified, at: start)
    return machine
  }

  func step(
    _ machine: IDTokenMachine, at seconds: Int64, minimum: Int64 = 60, isLast: Bool = false
  ) -> IDTokenMachine.Step {
    machine.step(minimum: .seconds(minimum), isLast: isLast, at: start + .seconds(seconds))
  }

  @Test func verifiedTokenAnswersUntilItIsTooOld() {
    let machine = machine(facts(1))
    #expect(step(machine, at: 240) == .answer(serial: 1))
    #expect(step(machine, at: 241) == .refresh)
    #expect(step(machine, at: 241, minimum: 0) == .answer(serial: 1))
    #expect(step(IDTokenMachine(), at: 0) == .refresh)
  }

  @Test("A minimum that no token reaches is judged by the lead time, so that not each call refreshes")
  func minimumBeyondTheLifetime() {
    let machine = machine(facts(1))
    #expect(step(machine, at: 0, minimum: 3600) == .answer(serial: 1))
    #expect(step(machine, at: 250, minimum: 3600) == .answer(serial: 1))
    #expect(step(machine, at: 256, minimum: 3600) == .refresh)
  }

  @Test func uncheckedTokenIsVerifiedFirst() {
    var machine = machine(facts(1))
    machine.brought(facts(2, after: 250), isVerified: false, at: start + .seconds(250))
    #expect(step(machine, at: 230) == .answer(serial: 1))
    #expect(step(machine, at: 250) == .verify(serial: 2))
    #expect(machine.serials == [1, 2])
    machine.checked(serial: 2, isValid: true)
    #expect(step(machine, at: 250) == .answer(serial: 2))
    #expect(machine.serials == [2])
  }

  @Test func forgedTokenIsRefusedAndCausesNoRefresh() {
    var machine = machine(facts(1))
    machine.brought(facts(2, after: 250), isVerified: false, at: start + .seconds(250))
    machine.checked(serial: 2, isValid: false)
    #expect(step(machine, at: 250) == .refuse(.invalidIDToken))
    #expect(step(machine, at: 250, minimum: 10) == .answer(serial: 1))
    machine.brought(facts(3, after: 250), isVerified: true, at: start + .seconds(250))
    #expect(step(machine, at: 250) == .answer(serial: 3))
  }

  @Test func checkOfAReplacedTokenChangesNothing() {
    var machine = machine(facts(1), isVerified: false)
    machine.brought(facts(2), isVerified: false, at: start)
    let before = machine
    machine.checked(serial: 1, isValid: true)
    machine.checked(serial: 1, isValid: false)
    #expect(machine == before)
  }

  @Test func refreshWithoutATokenIsRememberedUntilSomethingChanges() {
    var machine = machine(facts(1))
    machine.broughtNone(.noIDToken)
    #expect(step(machine, at: 100) == .answer(serial: 1))
    #expect(step(machine, at: 250) == .refuse(.noIDToken))
    var reconfigured = machine
    reconfigured.reconfigured()
    #expect(step(reconfigured, at: 250) == .refresh)
    machine.brought(facts(2, after: 250), isVerified: true, at: start + .seconds(250))
    #expect(step(machine, at: 250) == .answer(serial: 2))
  }

  @Test func expiredTokenOfARefreshCountsAsNone() {
    var machine = machine(facts(1))
    machine.brought(facts(2, lives: 10), isVerified: true, at: start + .seconds(250))
    #expect(step(machine, at: 250) == .refuse(.noIDToken))
    #expect(machine.live(at: start + .seconds(250)) == 1)
    #expect(machine.live(at: start + .seconds(300)) == nil)
  }

  @Test func callerThatWaitedForARefreshCausesNoSecond() {
    let short = machine(facts(1, lives: 300))
    #expect(step(short, at: 250, isLast: true) == .answer(serial: 1))
    #expect(step(short, at: 300, isLast: true) == .refuse(.noIDToken))
    #expect(step(machine(facts(1), isVerified: false), at: 250, isLast: true) == .verify(serial: 1))
    #expect(step(IDTokenMachine(), at: 0, isLast: true) == .refuse(.noIDToken))
  }
}
