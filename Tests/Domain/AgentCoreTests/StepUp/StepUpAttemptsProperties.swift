import AgentCore
import AgentModel
import Testing

/// At most ten PINs are judged wrong, in seeded histories with kills between an attempt and its judgement, reboots,
/// restored clocks and concurrent callers.
@Suite struct StepUpAttemptsProperties {
  typealias Random = TokenMachineProperties.Random

  /// A disk, and an agent that can die between any two of its steps.
  struct World {
    var disk = StepUpAttempts()
    var boot = 1
    var now = BootInstant(milliseconds: 0)
    /// Wrong PINs since the PIN was set: what the bound limits.
    var judgedWrong = 0
    /// When a PIN was last judged in this boot.
    var lastJudged: BootInstant?
    var wrongInARow = 0

    /// One attempt. `dies` is the step after which the agent is killed.
    mutating func guess(isRight: Bool, dies: Int?) -> StepUpAttempts.Admission {
      var record = disk
      let admission = record.begin(at: now, bootID: "\(boot)")
      guard admission == .counted, dies != 0 else { return admission }
      disk = record
      guard dies != 1 else { return admission }
      lastJudged = now
      guard isRight else {
        judgedWrong += 1
        wrongInARow += 1
        return admission
      }
      guard dies != 2 else { return admission }
      record.wasRight()
      disk = record
      wrongInARow = 0
      return admission
    }
  }

  @Test(arguments: 0..<200) func randomHistories_judgeAtMostTenPINsWrong(seed: Int) {
    var random = Random(state: UInt64(seed))
    var world = World()
    for _ in 0..<400 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        world.boot += 1
        world.now = BootInstant(milliseconds: Int64.random(in: 0..<5000, using: &random))
        world.lastJudged = nil
      case 1: world.now = world.now + Milliseconds(Int64.random(in: 0..<60_000, using: &random))
      default:
        let before = world
        let admission = world.guess(
          isRight: Int.random(in: 0..<8, using: &random) == 0,
          dies: Bool.random(using: &random) ? nil : Int.random(in: 0..<4, using: &random))
        if case .throttled(let wait) = admission {
          #expect(wait > .zero && wait <= StepUpAttempts.longestPause, "seed \(seed)")
          #expect(world.disk == before.disk, "seed \(seed)")
        }
        if world.judgedWrong > before.judgedWrong, before.wrongInARow >= StepUpAttempts.withoutPause,
          let last = before.lastJudged
        {
          #expect(world.now - last >= .seconds(1), "seed \(seed): no pause after three wrong ones in a row")
        }
      }
      #expect(world.judgedWrong <= StepUpAttempts.maximum, "seed \(seed)")
      #expect(world.disk.left <= StepUpAttempts.maximum - world.judgedWrong, "seed \(seed)")
    }
  }
}
