import Foundation
import UsageWords

/// `lanyard-demo run`: runs the demo in a temporary directory and always cleans up.
enum DemoCommand {
  static func run(_ arguments: [String]) -> Int32 {
    if arguments.contains("--help") || arguments.contains("-h") {
      Terminal.print(Usage.text)
      return 0
    }
    if let unknown = arguments.first(where: { !["--by-hand", "--keep"].contains($0) }) {
      return Usage.tell(Mistake.unknown(unknown), among: arguments)
    }
    // Before the first thread, so that only the waiting thread receives the signals.
    EndingSignals.block()
    let narrator = Narrator()
    let stage: Stage
    do {
      stage = try Stage(keepsDirectory: arguments.contains("--keep"))
    } catch {
      narrator.failure("\(error)")
      return 1
    }
    EndingSignals.onArrival { signal in
      stage.clear()
      Terminal.complain("\nInterrupted. The agent, the provider and \(stage.directory) are removed.")
      exit(128 + signal)
    }
    return tell(Story(stage: stage, narrator: narrator, byHand: arguments.contains("--by-hand")), stage, narrator)
  }

  private static func tell(_ story: Story, _ stage: Stage, _ narrator: Narrator) -> Int32 {
    defer { stage.clear() }
    do {
      try story.tell()
      return 0
    } catch {
      EndingSignals.passArrived()
      narrator.failure("\(error)")
      let log = stage.agentLog
      if !log.isEmpty { narrator.failure("The end of the agent's log:\n\(log)") }
      return 1
    }
  }
}
