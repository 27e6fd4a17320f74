import AgentModel
import AgentPorts
internal import AgentRecords
import AgentSimulation
import Synchronization
import Testing

@Suite struct AlarmTests {
  /// An alarm on a virtual clock, and the seconds at which it rang. Nothing runs in parallel.
  private final class Scene: Sendable {
    let clock = VirtualClock()
    let background = BackgroundWork()
    let alarm: Alarm
    private let executor = SeededExecutor(seed: 1)
    private let start: BootInstant
    private let rung = Mutex<[Int64]>([])

    init() {
      start = clock.boot()
      alarm = Alarm(clock: clock, background: background)
      Task(executorPreference: executor) { [background] in await background.run() }
      executor.runUntilIdle()
    }

    var rings: [Int64] { rung.withLock { $0 } }

    /// Sets the alarm, and lets it ring again at each of the moments in `later`.
    func set(_ seconds: Int64, later: [Int64] = []) {
      let rest = Rest(later)
      alarm.set(moment(seconds)) { [self] in
        rung.withLock { $0.append((clock.boot() - start).count / 1000) }
        return rest.next().map { moment($0) }
      }
      executor.runUntilIdle()
    }

    func pass(seconds: Int64) {
      let end = clock.boot() + .seconds(seconds)
      while clock.advanceToNext(limit: end) { executor.runUntilIdle() }
    }

    func stop() {
      background.stop()
      executor.runUntilIdle()
    }

    private func moment(_ seconds: Int64) -> BootInstant { start + .seconds(seconds) }
  }

  private final class Rest: Sendable {
    private let moments: Mutex<[Int64]>
    init(_ moments: [Int64]) { self.moments = Mutex(moments) }
    func next() -> Int64? { moments.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  @Test func alarm_ringsOnceAtItsTime() {
    let scene = Scene()
    scene.set(5)
    scene.pass(seconds: 4)
    #expect(scene.rings == [])
    scene.pass(seconds: 60)
    #expect(scene.rings == [5])
    #expect(scene.clock.sleeping == 0)
  }

  @Test func laterAlarmTime_startsNoSecondSleeper() {
    let scene = Scene()
    for second: Int64 in [5, 9, 5] { scene.set(second) }
    #expect(scene.clock.sleeping == 1)
    scene.pass(seconds: 60)
    #expect(scene.rings == [5])
  }

  @Test func earlierAlarmTime_replacesTheSleeper() {
    let scene = Scene()
    scene.set(9)
    scene.set(5)
    scene.pass(seconds: 60)
    #expect(scene.rings == [5])
  }

  @Test func ringThatReturnsATime_ringsAgainThen() {
    let scene = Scene()
    scene.set(5, later: [7, 11])
    scene.pass(seconds: 60)
    #expect(scene.rings == [5, 7, 11])
  }

  @Test func clearedAlarm_ringsOnlyForLaterSettings() {
    let scene = Scene()
    scene.set(5)
    scene.alarm.clear()
    scene.set(8)
    scene.pass(seconds: 60)
    #expect(scene.rings == [8])
  }

  @Test func endOfTheAgent_cancelsTheSleeperWithoutARing() {
    let scene = Scene()
    scene.set(5)
    #expect(scene.clock.sleeping == 1)
    scene.stop()
    #expect(scene.clock.sleeping == 0)
    #expect(scene.rings == [])
  }
}
