import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy show`
struct PolicyShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print a policy document.",
    discussion: "Without a name: the policy of the account that is used here.")

  @Argument(help: "The policy.", completion: .policies)
  var name: String?

  @OptionGroup var common: CommonOptions

  func run() throws {
    var agent = try common.connect()
    let name = try name ?? nameHere(via: &agent)
    try agent.call("policy.get", params: { $0.member("name", name) }) { result in
      if common.json { return Output.answer(json: result.raw) }
      Output.answer(LaidOutJSON.text(result["policy"] ?? result))
      // On stderr: the document on stdout stays one.
      for line in PolicyOverview.lines(result["policy"] ?? result) { Output.note(Text.shown(line)) }
    }
  }

  /// The policy of the selected account; without `--account`, the only policy.
  private func nameHere(via agent: inout AgentConnection) throws(CommandFailure) -> String {
    let known = try PolicyName.all(via: &agent)
    if known.count == 1, common.account == nil { return known[0] }
    let selection = try AccountSelection.choose(argument: nil, option: common.account)
    let provider = try AccountInfo.named(selection, via: &agent).provider
    let named = try agent.call("provider.get", params: { $0.member("provider", provider) }) { result in
      (result["provider"] ?? result)["policy"]?.string
    }
    return named ?? "default"
  }
}
