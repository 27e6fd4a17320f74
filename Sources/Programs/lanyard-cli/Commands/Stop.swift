import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard stop`
struct Stop: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the agent.", discussion: "The next command that needs an agent starts one.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    do throws(CommandFailure) {
      var agent = try Agent.connect(mayStart: false)
      try agent.call("agent.shutdown") { result in
        Output.answer(common.json ? result.text : "The agent is ending.")
      }
    } catch {
      guard error.name == "noAgent" else { throw error }
      Output.answer(common.json ? "{}" : "No agent runs.")
    }
  }
}
