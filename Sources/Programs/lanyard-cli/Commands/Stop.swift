import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard stop`
struct Stop: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the agent.",
    discussion: "Waits until its process has ended, 10 s at most. The next command that needs an agent starts one.")

  /// The agent gives clients 5 s to read their last answers.
  private static let patienceSeconds: Int32 = 10

  @OptionGroup var common: CommonOptions

  func run() throws {
    do throws(CommandFailure) {
      var agent = try Agent.connect(mayStart: false)
      switch try agent.shutDown(waiting: Self.patienceSeconds * 1000) {
      case .ended: say("The agent has ended.")
      case .unknown: say("The agent is ending.")
      case .runs:
        throw CommandFailure(
          .other, name: "stillRunning",
          "The agent still runs after \(Self.patienceSeconds) s: it finishes its work and then ends.",
          hints: ["Run `lanyard stop` again: it says when no agent runs."])
      }
    } catch {
      guard error.name == "noAgent" else { throw error }
      try waitForAnEndingAgent()
    }
  }

  /// No agent answers. One that was stopped before may still hold the state.
  private func waitForAnEndingAgent() throws(CommandFailure) {
    guard let hasEnded = EndingAgent.hasEnded(waiting: Self.patienceSeconds * 1000) else {
      return say("No agent runs.")
    }
    guard hasEnded else {
      throw CommandFailure(
        .other, name: "stillRunning",
        "The agent is still ending after \(Self.patienceSeconds) s: it waits for exchanges on their way.",
        hints: ["Run `lanyard stop` again: it says when no agent runs."])
    }
    say("The agent has ended.")
  }

  private func say(_ sentence: String) { common.json ? Output.answer(json: "{}") : Output.done(sentence) }
}
