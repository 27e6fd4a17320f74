import AgentCore
import AgentModel
import Testing

/// Trusted time on a machine whose wall clock a person can set.
@Suite struct TrustedTimeTests {
  /// A machine with its clocks, and the record that survives a boot.
  struct Machine {
    static let idp = ProviderName("idp")!
    static let day = Milliseconds.seconds(86_400)
    static let beginning = Timestamp(year: 2030, month: 1, day: 1)

    var trueTime = beginning
    var wallError = Milliseconds.zero
    var bootedAt = beginning + .seconds(-1000)
    var boots = 1
    var time: TrustedTime!

    init() { time = TrustedTime(nil, bootID: bootID, at: now) }

    var bootID: String { "boot-\(boots)" }
    var now: MachineTime {
      MachineTime(wall: trueTime + wallError, boot: BootInstant(milliseconds: (trueTime - bootedAt).count))
    }

    mutating func pass(_ duration: Milliseconds) { trueTime = trueTime + duration }

    /// The agent ends and starts again with what it stored.
    mutating func restart() {
      let record = time.record(at: now)
      time = TrustedTime(record, bootID: bootID, at: now)
    }

    /// `wallError`: the wall clock is set, or its battery is empty, while the machine is off.
    mutating func reboot(
      off: Milliseconds = .seconds(30), uptime: Milliseconds = .seconds(10), wallError: Milliseconds? = nil
    ) {
      let record = time.record(at: now)
      pass(off)
      self.wallError = wallError ?? self.wallError
      bootedAt = trueTime
      boots += 1
      pass(uptime)
      time = TrustedTime(record, bootID: bootID, at: now)
    }

    /// An exchange with a server whose clock is `error` ahead of the truth.
    mutating func ask(
      _ provider: ProviderName = idp, error: Milliseconds = .zero, there: Milliseconds = Milliseconds(20),
      back: Milliseconds = Milliseconds(20)
    ) {
      let sentAt = now.boot
      pass(there)
      let shown = trueTime + error
      let date = Timestamp(milliseconds: shown.milliseconds - shown.milliseconds % 1000)
      pass(back)
      time.apply(ServerSample(date: date, sentAt: sentAt, receivedAt: now.boot), from: provider, at: now)
    }

    /// The wall clock is right, was ahead by `jump` for a moment, and is right again.
    mutating func setAhead(_ jump: Milliseconds) {
      wallError = jump
      time.advance(to: now)
      wallError = .zero
    }

    mutating func confirm(_ provider: ProviderName = idp) -> TrustedInstant {
      time.confirmed(by: provider, at: now.boot, now: now)
    }

    /// Reads both clocks first, as the agent does.
    mutating func reading(_ provider: ProviderName = idp, since instant: TrustedInstant? = nil) -> ProviderTime {
      time.advance(to: now)
      return time.reading(for: provider, since: instant, at: now)
    }
    mutating func elapsed(since instant: TrustedInstant, _ provider: ProviderName = idp) -> Milliseconds {
      time.advance(to: now)
      return time.elapsed(since: instant, by: provider, at: now)
    }
    mutating func elapsed(sinceMoment moment: TrustedInstant) -> Milliseconds {
      time.advance(to: now)
      return time.elapsed(since: moment, at: now)
    }
    /// Trusted time minus true time.
    mutating func error(_ provider: ProviderName = idp) -> Milliseconds { reading(provider).now - trueTime }
  }

  static let day = Machine.day
  /// The resolution of `Date`, and half a round trip.
  static let precision = Milliseconds(-1100)...Milliseconds(1100)

  // MARK: the wall clock alone

  @Test func providerWithoutADate_leavesTheWallClockTrusted() {
    var machine = Machine()
    #expect(
      machine.reading()
        == ProviderTime(now: machine.trueTime, clock: .trusted, behind: .zero, serverTimeOffset: nil))
  }

  @Test(
    arguments: [(119, .trusted), (120, .trusted), (121, .suspect), (3 * 86_400, .suspect)] as [(Int64, ClockTrust)])
  func wallClockBehindTheMark_isSuspect(seconds: Int64, clock: ClockTrust) {
    for hasServer in [false, true] {
      var machine = Machine()
      if hasServer { machine.ask() }
      _ = machine.confirm()
      machine.wallError = .seconds(-seconds)
      #expect(machine.reading().clock == clock, "server: \(hasServer)")
      #expect(machine.reading().behind == .seconds(seconds), "server: \(hasServer)")
      #expect(machine.time.behind(at: machine.now) == (clock == .suspect ? .seconds(seconds) : nil))
      machine.wallError = .zero
      #expect(machine.reading().clock == .trusted)
      #expect(machine.time.behind(at: machine.now) == nil)
    }
  }

  @Test func clockSetBackThreeDays_lengthensNoWindow() {
    for hasServer in [false, true] {
      var machine = Machine()
      if hasServer { machine.ask() }
      let confirmed = machine.confirm()
      machine.pass(.seconds(3600))
      machine.wallError = Self.day * -3
      machine.pass(.seconds(3600))
      #expect(machine.elapsed(since: confirmed) == .seconds(7200))
      #expect(machine.reading().clock == .suspect)
      machine.restart()
      machine.pass(.seconds(60))
      #expect(machine.elapsed(since: confirmed) == .seconds(7260))
    }
  }

  /// The wall clock was right before the shutdown, and is three days back after the boot.
  @Test func clockSetBackThreeDaysOverAReboot_runsFromTheMark() {
    for hasServer in [false, true] {
      var machine = Machine()
      if hasServer { machine.ask() }
      let confirmed = machine.confirm()
      machine.pass(.seconds(3600))
      machine.reboot(off: .seconds(600), uptime: .seconds(50), wallError: Self.day * -3)
      // The ten minutes without power can't be known; the fifty seconds of uptime are certain.
      #expect(machine.elapsed(since: confirmed) == .seconds(3650))
      #expect(machine.reading().clock == .suspect)
      #expect(machine.reading().serverTimeOffset == nil, "an offset of another boot does not apply")
      machine.pass(.seconds(100))
      #expect(machine.elapsed(since: confirmed) == .seconds(3750))
      machine.wallError = .zero
      #expect(
        machine.elapsed(since: confirmed) == .seconds(3600 + 600 + 50 + 100), "corrected, the clock shows the truth")
      #expect(machine.reading().clock == .trusted)
    }
  }

  /// Set back before the shutdown and still set back after it: the difference still shows the elapsed time. Corrected
  /// afterwards, the clock seems to run ahead, until a server's date shows otherwise.
  @Test func clockSetBackBeforeAReboot_stillCountsTheTimeWithoutPower() {
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.wallError = Self.day * -3
    #expect(machine.reading().clock == .suspect)
    machine.reboot(off: Self.day)
    #expect(machine.elapsed(since: confirmed) == Self.day + .seconds(10))
    #expect(machine.reading().clock == .suspect)
    machine.wallError = .zero
    #expect(machine.elapsed(since: confirmed) == Self.day * 4 + .seconds(10))
    machine.ask()
    #expect(machine.elapsed(since: confirmed) == Self.day + .seconds(10) + Milliseconds(40))
    #expect(machine.reading().clock == .trusted)
  }

  @Test func rebootWithAnUntouchedClock_countsTheTimeWithoutPower() {
    for error in [Milliseconds.zero, .seconds(3600), Self.day * -400] {
      var machine = Machine()
      machine.wallError = error
      machine.ask()
      let confirmed = machine.confirm()
      machine.reboot(off: Self.day * 5)
      let elapsed = machine.elapsed(since: confirmed)
      // A clock that is ahead may have been set back meanwhile, so its difference counts as elapsed.
      let least = Self.day * 5 + .seconds(10)
      #expect(
        elapsed >= least && elapsed <= least + max(.zero, error),
        "a clock that is wrong by \(error.count) and was not touched")
    }
  }

  /// A machine without a clock battery starts in 1970, and is set when it finds the network.
  @Test func clockSetAfterStarting_isNoForwardJump() {
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.reboot(off: Self.day, uptime: .seconds(20), wallError: Timestamp(milliseconds: 0) - machine.trueTime)
    #expect(machine.reading().clock == .suspect)
    machine.restart()  // with a record stored meanwhile
    machine.wallError = .zero
    machine.pass(.seconds(10))
    #expect(machine.elapsed(since: confirmed) == Self.day + .seconds(30))
    #expect(machine.reading().clock == .trusted)
  }

  // MARK: a year ahead

  @Test func clockAYearAheadWithAServersDate_changesNothing() {
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.wallError = Self.day * 365
    machine.pass(.seconds(60))
    #expect(machine.elapsed(since: confirmed) == .seconds(60))
    #expect(machine.reading().clock == .trusted)
    #expect(machine.reading().serverTimeOffset == Self.day * -365)
    machine.wallError = .zero
    #expect(machine.reading().serverTimeOffset == .zero)
    #expect(machine.elapsed(since: confirmed) == .seconds(60))
  }

  @Test func clockAYearAheadAfterAReboot_expiresWindowsUntilAServersDate() {
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.reboot(wallError: Self.day * 365)
    #expect(machine.elapsed(since: confirmed) >= Self.day * 365)
    #expect(machine.reading().clock == .trusted, "ahead is not under the mark")
    machine.wallError = .zero
    machine.pass(.seconds(5))
    #expect(machine.elapsed(since: confirmed) >= Self.day * 365, "setting the clock lowers no mark")
    #expect(machine.reading().clock == .suspect)
    machine.restart()
    #expect(machine.reading().clock == .suspect, "and no restart does")
    machine.reboot()
    #expect(machine.reading().clock == .suspect, "nor a reboot")
    machine.ask()
    #expect(machine.reading().clock == .trusted)
    #expect(Self.precision.contains(machine.error()))
    #expect(machine.elapsed(since: confirmed) < .seconds(120))
  }

  /// The machine runs with a wall clock 60 days ahead, is switched off, and starts 60 days later with the true time.
  @Test func clockThatWasAheadBeforeAReboot_hidesNoTimeWithoutPower() {
    for days in [1, 60, 400] as [Int64] {
      var machine = Machine()
      machine.ask()
      let confirmed = machine.confirm()
      machine.wallError = Self.day * days
      machine.pass(.seconds(60))
      #expect(machine.elapsed(since: confirmed) == .seconds(60))
      machine.reboot(off: Self.day * days, wallError: .zero)
      #expect(machine.elapsed(since: confirmed) >= Self.day * days, "\(days) days without power count")
      #expect(machine.reading().clock == .trusted)
      // Nor does an exchange by the wrong clock give the time back.
      var second = Machine()
      second.wallError = Self.day * days
      second.ask()
      let later = second.confirm()
      second.reboot(off: Self.day * days, wallError: .zero)
      #expect(second.elapsed(since: later) >= Self.day * days)
    }
  }

  @Test func forwardJump_isReportedOnceForStorage() {
    var machine = Machine()
    _ = machine.confirm()
    var told: [Bool] = []
    // A day that passes is no jump; a jump is reported once.
    for (passes, error) in [
      (Self.day, .zero), (.zero, .seconds(119)), (.zero, Self.day * 365), (.zero, Self.day * 365),
    ]
      as [(Milliseconds, Milliseconds)]
    {
      machine.pass(passes)
      machine.wallError = error
      told.append(machine.time.advance(to: machine.now))
    }
    #expect(told == [false, false, true, false])
  }

  // MARK: a provider that never told its time

  @Test func clockThatWasAheadOnce_isAcceptedByTheNextConfirmation() {
    var machine = Machine()
    let before = machine.confirm()
    machine.wallError = Self.day * 40
    #expect(machine.elapsed(since: before) == Self.day * 40)
    machine.wallError = .zero
    #expect(machine.reading(since: before).clock == .suspect)
    let confirmed = machine.confirm()
    for _ in 0..<2 {
      #expect(machine.reading(since: confirmed).clock == .trusted)
      #expect(machine.reading().clock == .trusted)
      #expect(machine.time.behind(at: machine.now) == nil)
      #expect(machine.error() == .zero, "the wall clock is all there is")
      machine.restart()
    }
    machine.reboot(off: Self.day)
    #expect(machine.reading(since: confirmed).clock == .trusted)
    #expect(machine.elapsed(since: confirmed) == Self.day + .seconds(10), "time without power counts")
    // Set back from there, it is suspect again.
    machine.wallError = .seconds(-121)
    #expect(machine.reading(since: confirmed).clock == .suspect)
    #expect(machine.reading(since: confirmed).behind == .seconds(121))
  }

  /// Another account of the provider is confirmed: its window began before the wall clock was accepted.
  @Test func acceptedClock_changesNothingForWhatWasConfirmedBefore() {
    var machine = Machine()
    let before = machine.confirm()
    machine.pass(Self.day)
    machine.wallError = Self.day * -3
    let later = machine.confirm()
    for (passed, off) in [(Milliseconds.zero, Milliseconds.zero), (.zero, Self.day), (Self.day, .zero)] {
      machine.pass(passed)
      if off > .zero { machine.reboot(off: off, uptime: .zero) }
      let difference = machine.elapsed(since: before) - machine.elapsed(since: later)
      #expect(difference == Self.day || difference == Self.day + Milliseconds(1))
      #expect(machine.reading(since: before).clock == .suspect)
      #expect(machine.reading(since: before).behind == Self.day * 3)
      #expect(machine.reading(since: later).clock == .trusted)
    }
    #expect(machine.elapsed(since: later) == Self.day * 2)
    // The mark is not lowered either.
    #expect(machine.time.highWater(of: Machine.idp, at: machine.now) == machine.trueTime)
  }

  /// The clock was ahead by a day, and later by three minutes; another account is confirmed after each.
  @Test func secondAcceptance_agesWhatBeganUnderTheFirstByItsOwnJumpOnly() {
    var machine = Machine()
    let before = machine.confirm()
    machine.setAhead(Self.day)
    let first = machine.confirm()
    machine.pass(.seconds(3600))
    machine.setAhead(.seconds(180))
    let second = machine.confirm()
    for _ in 0..<2 {
      #expect(machine.elapsed(since: first) == .seconds(3600 + 180))
      #expect(machine.reading(since: first).behind == .seconds(180))
      #expect(machine.elapsed(since: second) == .zero)
      #expect(machine.reading(since: second).clock == .trusted)
      #expect(machine.elapsed(since: before) == Self.day + .seconds(3600 + 180))
      machine.restart()
    }
    machine.reboot(off: Self.day, uptime: .zero)
    #expect(machine.elapsed(since: first) == Self.day + .seconds(3600 + 180))
    #expect(machine.elapsed(since: second) == Self.day)
  }

  /// The record keeps eight acceptances; of more, those with small differences are joined.
  @Test func manyAcceptances_ageOlderWindowsByTheSmallestJumps() {
    var machine = Machine()
    _ = machine.confirm()
    machine.setAhead(Self.day * 20_000)
    let first = machine.confirm()
    var longest = machine.elapsed(since: first)
    for jump in 1...20 {
      machine.setAhead(.seconds(180))
      let later = machine.confirm()
      #expect(machine.elapsed(since: later) == .zero)
      #expect(machine.elapsed(since: first) == .seconds(180 * Int64(jump)))
      #expect(machine.elapsed(since: first) > longest)
      longest = machine.elapsed(since: first)
      machine.restart()
    }
    #expect(machine.time.record(at: machine.now).lines.first?.acceptances.count == 8)
  }

  /// The request was sent before the clock was set back, and a second account confirmed in between.
  @Test func clockSetBackDuringARequest_lengthensNoOtherWindow() {
    var machine = Machine()
    _ = machine.confirm()
    machine.pass(.seconds(100))
    let sentAt = machine.now.boot
    machine.pass(.seconds(10))
    let between = machine.confirm()
    machine.wallError = Self.day * -3
    machine.pass(.seconds(10))
    let late = machine.time.confirmed(by: Machine.idp, at: sentAt, now: machine.now)
    #expect(machine.elapsed(since: late) == .seconds(20), "from the request on")
    machine.reboot(off: Self.day, uptime: .zero)
    #expect(machine.elapsed(since: between) == Self.day + .seconds(10))
    #expect(machine.elapsed(since: late) == Self.day + .seconds(20))
  }

  @Test func providerThatToldItsTime_lowersItByADateOnly() {
    for isSameBoot in [true, false] {
      var machine = Machine()
      machine.ask()
      if !isSameBoot { machine.reboot() }
      machine.wallError = Self.day * -3
      let confirmed = machine.confirm()
      #expect(machine.reading(since: confirmed).clock == .suspect, "same boot: \(isSameBoot)")
      #expect(machine.error() >= .zero - .seconds(31))
    }
  }

  /// A record of an older version has no `wasTold`: what only a server's time leaves in it says so.
  @Test func oldRecordOfAProviderThatToldItsTime_lowersItByADateOnly() {
    for (wallOffset, toldBehind, isTold) in [(600, 0, true), (0, 600, true), (0, 0, false)] as [(Int64, Int64, Bool)] {
      var machine = Machine()
      let line = TrustedTime.Record.Line(
        provider: Machine.idp, mark: machine.now.wall + Self.day, wallOffset: .seconds(wallOffset),
        toldBehind: .seconds(toldBehind), isAnchored: false)
      machine.time = TrustedTime(
        TrustedTime.Record(bootID: "boot-0", boot: machine.now.boot, lived: .zero, lines: [line]),
        bootID: machine.bootID, at: machine.now)
      let confirmed = machine.confirm()
      #expect(
        machine.reading(since: confirmed).clock == (isTold ? .suspect : .trusted), "\(wallOffset), \(toldBehind)")
    }
  }

  /// Servers and people date by a clock that is right now; no window counts by it.
  @Test func calendarTime_isTheWallClockUntilAServerToldItsTime() {
    var machine = Machine()
    _ = machine.confirm()
    machine.wallError = Self.day * 40
    _ = machine.reading()
    machine.wallError = .zero
    #expect(machine.time.calendarTime(of: Machine.idp, at: machine.now) == machine.now.wall)
    machine.ask(error: .seconds(3600))
    machine.wallError = Self.day
    #expect(machine.time.calendarTime(of: Machine.idp, at: machine.now) == machine.reading().now)
    machine.reboot(wallError: .zero)
    #expect(machine.time.calendarTime(of: Machine.idp, at: machine.now) == machine.reading().now)
  }

  // MARK: the server's clock

  @Test func dateACenturyAway_tellsNothing() {
    for (year, isTold) in [(1, false), (1900, false), (1970, true), (2096, true), (2200, false), (9999, false)] {
      var machine = Machine()
      let before = machine.reading()
      let date = Timestamp(year: Int64(year), month: 12, day: 31, hour: 23, minute: 59, second: 59)
      machine.time.apply(
        ServerSample(date: date, sentAt: machine.now.boot, receivedAt: machine.now.boot), from: Machine.idp,
        at: machine.now)
      #expect((machine.reading().serverTimeOffset != nil) == isTold, "\(year)")
      if !isTold { #expect(machine.reading() == before, "\(year)") }
    }
  }

  @Test(arguments: [3600, -3600] as [Int64])
  func serverAnHourOff_shiftsTheTimeButNotElapsedTime(seconds: Int64) throws {
    var machine = Machine()
    machine.ask(error: .seconds(seconds))
    let offset = try #require(machine.reading().serverTimeOffset)
    #expect(Self.precision.contains(offset - .seconds(seconds)))
    let confirmed = machine.confirm()
    machine.pass(.seconds(300))
    #expect(machine.elapsed(since: confirmed) == .seconds(300), "lengths of time are not off")
    #expect(machine.reading().clock == .trusted, "the difference is known")
  }

  /// The machine is behind the server, and both are so from the first answer on.
  @Test(arguments: [119, 121, 600, 86_400 * 400] as [Int64])
  func machineBehindItsServer_isTrustedOnceTheServerTold(seconds: Int64) {
    var machine = Machine()
    machine.wallError = .seconds(-seconds)
    machine.ask()
    let confirmed = machine.confirm()
    for _ in 0..<3 {
      machine.pass(.seconds(3600))
      #expect(machine.reading().clock == .trusted)
      #expect(machine.time.behind(at: machine.now) == nil)
      #expect(Self.precision.contains(machine.reading().behind - .seconds(seconds)), "it is told all the same")
    }
    machine.restart()
    #expect(machine.reading().clock == .trusted, "told in this boot")
    // Before the server tells the time again, the difference that it told in the last boot is expected.
    machine.reboot(off: .seconds(600))
    #expect(machine.reading().clock == .trusted)
    #expect(machine.elapsed(since: confirmed) >= .seconds(3 * 3600 + 610))
  }

  @Test func machineBehindItsServer_isSuspectOnceItsClockIsSetBackFurther() {
    var machine = Machine()
    machine.wallError = .seconds(-600)
    machine.ask()
    machine.wallError = .seconds(-720)
    #expect(machine.reading().clock == .trusted)
    machine.wallError = .seconds(-722)
    #expect(machine.reading().clock == .suspect)
    #expect(Self.precision.contains(machine.reading().behind - .seconds(722)), "behind by how much")
    machine.restart()
    #expect(machine.reading().clock == .suspect, "a restart does not make it trusted")
    machine.ask()
    #expect(machine.reading().clock == .trusted, "the server told the time")
    machine.wallError = .zero
    #expect(machine.reading().clock == .trusted)
  }

  /// A clock that was ahead when the server told the time, and is right now, was not set back too far.
  @Test func clockThatWasAheadOfItsServer_isTrustedOnceItIsRight() {
    var machine = Machine()
    machine.wallError = .seconds(3600)
    machine.ask()
    machine.wallError = .zero
    #expect(machine.reading().clock == .trusted)
  }

  /// A wall clock within the resolution of `Date` is not corrected.
  @Test func wallClockThatAgreesWithTheServer_isKept() {
    for start in 0..<40 {
      var machine = Machine()
      machine.pass(Milliseconds(Int64(start) * 50))
      machine.ask()
      #expect(machine.reading().serverTimeOffset == .zero)
      #expect(machine.error() == .zero)
    }
  }

  @Test func serverDate_correctsTheClockToASecond() {
    for start in 0..<40 {
      for (there, back) in [(0, 0), (20, 20), (5, 90), (90, 5)] as [(Int64, Int64)] {
        var machine = Machine()
        machine.wallError = .seconds(-7200)
        machine.pass(Milliseconds(Int64(start) * 50))
        machine.ask(there: Milliseconds(there), back: Milliseconds(back))
        #expect(max(machine.error(), Milliseconds(-machine.error().count)) <= Milliseconds(500 + (there + back) / 2))
      }
    }
  }

  @Test func serverOffset_usesTheShortestOfTheLastEightRoundTrips() {
    var machine = Machine()
    machine.wallError = .seconds(-7200)
    func sample(_ date: Int64, _ roundTrip: Int64, _ machine: inout Machine) {
      machine.pass(Milliseconds(roundTrip))
      let sent = BootInstant(milliseconds: machine.now.boot.milliseconds - roundTrip)
      machine.time.apply(
        ServerSample(
          date: machine.trueTime + Milliseconds(date - roundTrip / 2 - 500), sentAt: sent,
          receivedAt: machine.now.boot), from: Machine.idp, at: machine.now)
    }
    sample(400, 40, &machine)
    #expect(machine.error() == Milliseconds(400))
    for error in [100, 200, 300] as [Int64] {
      sample(error, 1000, &machine)
      #expect(machine.error() == Milliseconds(400), "a slower answer tells less")
    }
    sample(250, 40, &machine)
    #expect(machine.error() == Milliseconds(250), "of two as quick, the later")
    for error in [1, 2, 3, 4, 5, 6, 7] as [Int64] { sample(error, 1000 + 2 * error, &machine) }
    #expect(machine.error() == Milliseconds(250), "seven later")
    sample(8, 1016, &machine)
    #expect(machine.error() == Milliseconds(1), "eight later it is forgotten, and the shortest of those left counts")
  }

  @Test func serverWhoseClockWasCorrected_isFollowedAtOnce() {
    var machine = Machine()
    machine.ask(error: .seconds(3600), there: Milliseconds(1), back: Milliseconds(1))
    machine.ask(error: .zero, there: Milliseconds(400), back: Milliseconds(400))
    #expect(Self.precision.contains(machine.error()))
    #expect(machine.reading().clock == .trusted)
  }

  /// The mark may go back; what the boot clock counted stays.
  @Test func serverThatSetsItsClockBack_shortensNoElapsedTime() {
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.pass(Self.day)
    for error in [Milliseconds.seconds(-3600), Self.day * -20_000, .zero] {
      machine.ask(error: error)
      #expect(machine.elapsed(since: confirmed) >= Self.day)
      #expect(machine.elapsed(since: confirmed) < Self.day + .seconds(2))
    }
    machine.ask(error: Self.day * -20_000)
    machine.reboot(off: Self.day, uptime: .seconds(60))
    #expect(machine.elapsed(since: confirmed) >= Self.day + .seconds(60))
  }

  @Test(arguments: [-60 * 365, -1, 1, 70 * 365] as [Int64])
  func lyingProvider_changesNoOtherProvidersTime(days: Int64) {
    let liar = ProviderName("liar")!
    var machine = Machine()
    machine.ask()
    let confirmed = machine.confirm()
    machine.pass(Self.day)
    machine.ask(liar, error: Self.day * days)
    _ = machine.confirm(liar)
    #expect(machine.elapsed(since: confirmed) == Self.day + Milliseconds(40))
    #expect(machine.reading().clock == .trusted)
    #expect(machine.reading().serverTimeOffset == .zero)
    machine.reboot(off: Self.day)
    machine.ask(liar, error: Self.day * days)
    #expect(machine.elapsed(since: confirmed) == Self.day * 2 + .seconds(10) + Milliseconds(80))
    #expect(machine.reading(liar).clock == .trusted, "its time counts for its own accounts")
  }

  @Test func forgottenProvider_leavesNoTimeRecord() {
    var machine = Machine()
    machine.ask(error: Self.day * 30_000)
    machine.wallError = Self.day * -1
    #expect(machine.time.behind(at: machine.now) != nil)
    machine.time.forget(Machine.idp)
    #expect(machine.time.behind(at: machine.now) == nil)
    #expect(machine.time.record(at: machine.now).lines.isEmpty)
    #expect(machine.reading().serverTimeOffset == nil)
  }

  @Test func timeRecord_isRestoredInTheSameBoot() {
    var machine = Machine()
    machine.ask(error: .seconds(-3600))
    let before = machine.reading()
    machine.restart()
    #expect(machine.reading() == before, "told in this boot, to an agent that has ended since")
    machine.pass(.seconds(5))
    machine.wallError = Self.day * 365
    #expect(machine.reading().now == before.now + .seconds(5))
  }

  // MARK: moments of no provider

  @Test func elapsedTimeOfAGrant_ignoresClockChanges() {
    var machine = Machine()
    let made = machine.time.moment(at: machine.now)
    machine.pass(.seconds(600))
    #expect(machine.time.elapsed(since: made, at: machine.now) == .seconds(600))
    machine.wallError = .zero - Machine.day
    #expect(machine.time.elapsed(since: made, at: machine.now) == .seconds(600))
    machine.restart()
    machine.pass(.seconds(60))
    #expect(machine.time.elapsed(since: made, at: machine.now) == .seconds(660))
    // Over a reboot, at least the time that the boot clocks counted.
    machine.reboot(off: .seconds(30), uptime: .seconds(10))
    #expect(machine.time.elapsed(since: made, at: machine.now) == .seconds(670))
    machine.wallError = Machine.day
    #expect(machine.time.elapsed(since: made, at: machine.now) == .seconds(700) + Machine.day)
  }

  /// A grant of an hour, on a machine that was off for two.
  @Test func clockSetBackAfterAGrantsEnd_revivesNoGrant() {
    for isReboot in [true, false] {
      var machine = Machine()
      let made = machine.time.moment(at: machine.now)
      if isReboot { machine.reboot(off: .seconds(7200)) } else { machine.wallError = .seconds(7200) }
      let elapsed = machine.elapsed(sinceMoment: made)
      #expect(elapsed >= .seconds(7200))
      machine.wallError = .seconds(-5400)
      #expect(machine.elapsed(sinceMoment: made) >= elapsed)
      machine.restart()
      #expect(machine.elapsed(sinceMoment: made) >= elapsed)
      machine.reboot(off: .zero, uptime: .zero)
      #expect(machine.elapsed(sinceMoment: made) >= elapsed)
    }
  }

  /// A record of an older version has no line of the machine.
  @Test func oldRecordWithoutTheMachinesTime_revivesNoGrant() {
    var machine = Machine()
    _ = machine.confirm()
    let made = machine.time.moment(at: machine.now)
    var record = machine.time.record(at: machine.now)
    record.lines.removeAll { $0.provider == nil }
    machine.time = TrustedTime(record, bootID: machine.bootID, at: machine.now)
    machine.wallError = .seconds(7200)
    #expect(machine.elapsed(sinceMoment: made) == .seconds(7200))
    machine.wallError = .zero
    #expect(machine.elapsed(sinceMoment: made) == .seconds(7200))
    machine.restart()
    #expect(machine.elapsed(sinceMoment: made) == .seconds(7200))
  }

  /// A machine without a clock battery starts in 1970; its clock is set, and later slips by three minutes.
  @Test func clockThatSlipsAfterABootIn1970_endsNoGrant() {
    var machine = Machine()
    _ = machine.time.moment(at: machine.now)
    machine.reboot(off: .zero, uptime: .zero, wallError: Self.day * -20_000)
    _ = machine.time.moment(at: machine.now)
    machine.wallError = .zero
    machine.time.advance(to: machine.now)
    let made = machine.time.moment(at: machine.now)
    machine.pass(.seconds(60))
    machine.setAhead(.seconds(180))
    let later = machine.time.moment(at: machine.now)
    #expect(machine.elapsed(sinceMoment: made) == .seconds(240))
    #expect(machine.elapsed(sinceMoment: later) == .zero)
  }

  @Test func grantMadeAfterAClockWasAhead_livesAsLongAsIsMeant() {
    var machine = Machine()
    let before = machine.time.moment(at: machine.now)
    machine.wallError = Self.day * 40
    #expect(machine.elapsed(sinceMoment: before) == Self.day * 40)
    machine.wallError = .zero
    let made = machine.time.moment(at: machine.now)
    #expect(made.time == machine.now.wall)
    #expect(machine.elapsed(sinceMoment: made) == .zero)
    machine.reboot(off: Self.day)
    #expect(machine.elapsed(sinceMoment: made) == Self.day + .seconds(10), "time without power counts")
    #expect(machine.elapsed(sinceMoment: before) == Self.day * 41 + .seconds(10))
  }

  /// The machine's own timeline is of no provider.
  @Test func clockSetBackAfterAGrantWasMade_makesNoClockSuspect() {
    var machine = Machine()
    _ = machine.time.moment(at: machine.now)
    machine.wallError = Self.day * -3
    #expect(machine.time.behind(at: machine.now) == nil)
    #expect(machine.reading().clock == .trusted)
  }
}
