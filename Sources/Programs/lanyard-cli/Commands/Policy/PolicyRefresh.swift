import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy refresh`
struct PolicyRefresh: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Fetch the organisation's signed policies now.",
    discussion: """
      The agent fetches them by itself, about every `intervalSeconds` of `policySource` in its configuration file. \
      Exit code 1 if the source confirmed nothing: the policies in force stay.
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    agent.waitsFor = "the policy source"
    let source = try agent.call("policy.refresh") { result in
      if common.json { Output.answer(json: result.raw) }
      return result["policySource"].map { PolicySourceInfo($0) }
    }
    guard let source else {
      if !common.json { Output.note("There is no policy source: the configuration file names none.") }
      return
    }
    if !common.json {
      Output.done(Text.shown(source.words))
      if let problem = source.problem { Output.note(Text.shown(problem)) }
    }
    if source.problem != nil { try OtherAnswer.end(with: .other) }
  }
}
