import Foundation
import Synchronization
import Testing

/// The seeds of this run, and the one that a test runs now.
///
///     LANYARD_SEEDS=200        200 seeds of a scenario, from 1 on; fewer of one that costs more
///     LANYARD_SEEDS=7000+200   the same, from 7000 on: `make test` derives the first seed from the commit
///     LANYARD_SEEDS=500-900    just these, of every scenario
///     LANYARD_SEED=17          just this one
enum Seeds {
  /// A hundred is a minute: enough for `swift test` by hand.
  private static let usual: UInt64 = 100

  /// The number of worlds that run at a time: two, or `LANYARD_WORLDS`.
  static let worlds = ProcessInfo.processInfo.environment["LANYARD_WORLDS"].flatMap { Int($0) } ?? 2

  /// The seeds of a test that runs `perThousand` of them where a thousand are asked for; one at least.
  static func asked(_ perThousand: Int) -> ClosedRange<UInt64> {
    asked(perThousand, environment: ProcessInfo.processInfo.environment)
  }

  static func asked(_ perThousand: Int, environment: [String: String]) -> ClosedRange<UInt64> {
    if let one = environment["LANYARD_SEED"].flatMap({ UInt64($0) }) { return one...one }
    let text = environment["LANYARD_SEEDS"] ?? ""
    func from(_ first: UInt64, _ count: UInt64) -> ClosedRange<UInt64> {
      first...first + max(1, count * UInt64(perThousand) / 1000) - 1
    }
    func pair(_ mark: Character) -> (UInt64, UInt64)? {
      let numbers = text.split(separator: mark, omittingEmptySubsequences: false).map { UInt64($0) }
      guard numbers.count == 2, let first = numbers[0], let second = numbers[1] else { return nil }
      return (first, second)
    }
    if let (first, count) = pair("+") { return from(first, count) }
    if let (first, last) = pair("-"), first <= last { return first...last }
    if let count = UInt64(text) { return from(1, count) }
    precondition(text.isEmpty, "LANYARD_SEEDS is COUNT, FIRST+COUNT or FIRST-LAST, and not \(text)")
    return from(1, usual)
  }

  /// The seed of the world that this task runs.
  final class Running: Sendable {
    let seed: UInt64
    private let failures = Atomic(0)

    init(_ seed: UInt64) { self.seed = seed }

    var hasFailed: Bool { failures.load(ordering: .relaxed) > 0 }
    func failed() { failures.add(1, ordering: .relaxed) }
  }

  @TaskLocal static var current: Running?

  /// The command that runs this test again with this seed only.
  static func replay(_ seed: UInt64) -> String {
    "make replay TEST=\(Test.current.map(path(of:)) ?? "SimulationTests") SEED=\(seed)"
  }

  /// `SimulationTests.CallerScenarios/storm`: what `swift test --filter` takes, without what a shell would read.
  private static func path(of test: Test) -> String {
    let id = "\(test.id)"
    return String(id.prefix { $0 != "(" })
  }
}

extension Trait where Self == IssueHandlingTrait {
  /// Adds to each failure the seed in which it happened, and the command that replays it.
  static var tellsItsSeed: Self {
    .compactMapIssues { issue in
      guard let running = Seeds.current else { return issue }
      running.failed()
      var issue = issue
      let told: Comment = "seed \(running.seed): \(Seeds.replay(running.seed))"
      if !issue.comments.contains(told) { issue.comments.append(told) }  // the trait of the suite is its tests', too
      return issue
    }
  }
}
