import AgentPorts
import AgentSimulation
import Synchronization
import Testing

/// Callers that come while a group is under way share the next one.
@Suite struct GroupedWorkTests {
  /// Records the groups; each one waits until it is let go.
  private final class Scene: Sendable {
    private let executor = SeededExecutor(seed: 1)
    private let groups = Mutex<[[Int]]>([])
    private let answered = Mutex<[Int]>([])
    private let (gates, gate) = AsyncStream<Void>.makeStream()

    func work() -> GroupedWork<Int, Int> {
      GroupedWork { [self] requests in
        groups.withLock { $0.append(requests) }
        for await _ in gates { break }
        return requests.map { $0 * 10 }
      }
    }

    func ask(_ work: GroupedWork<Int, Int>, _ request: Int) {
      Task(executorPreference: executor) { [self] in
        let answer = await work(request)
        answered.withLock { $0.append(answer) }
      }
      executor.runUntilIdle()
    }

    func letGo() {
      gate.yield()
      executor.runUntilIdle()
    }

    var told: [[Int]] { groups.withLock { $0 } }
    var answers: [Int] { answered.withLock { $0.sorted() } }
  }

  @Test func callers_shareTheNextGroup() {
    let scene = Scene()
    let work = scene.work()
    for request in 1...4 { scene.ask(work, request) }
    #expect(scene.told == [[1]])
    scene.letGo()
    #expect(scene.answers == [10])
    #expect(scene.told == [[1], [2, 3, 4]])
    scene.ask(work, 5)
    scene.letGo()
    #expect(scene.answers == [10, 20, 30, 40])
    scene.letGo()
    #expect(scene.told == [[1], [2, 3, 4], [5]])
    #expect(scene.answers == [10, 20, 30, 40, 50])
    scene.ask(work, 6)
    scene.letGo()
    #expect(scene.answers.last == 60, "it begins anew after a rest")
  }
}
