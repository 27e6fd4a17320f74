import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard rename`
struct Rename: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give an account another alias.",
    discussion: """
      EXAMPLES:
        lanyard rename work acme
        lanyard rename alice@acme.example acme
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String

  @Argument(help: "The new alias: letters, digits and . _ @ -.")
  var alias: String

  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    do throws(CommandFailure) {
      try agent.call("account.rename") { writer in
        writer.member("account", known.id)
        writer.member("alias", alias)
      } result: { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.done(Text.shown("Renamed: \(known.label) is \(alias) now."))
      }
    } catch {
      throw error.explaining(alias: alias, via: &agent)
    }
  }
}

extension CommandFailure {
  /// Explains an alias that another account has, or that can't be one. `agent` is asked whose it is.
  func explaining(alias: String, via agent: inout AgentConnection) -> CommandFailure {
    var told = self
    if name == "accountAmbiguous" {
      let owner = (try? AccountInfo.all(via: &agent))?.first { $0.alias == alias }
      guard let owner else { return self }
      told.message =
        "The alias \(alias) belongs to another account: \(owner.person) at \(owner.provider). "
        + "Nothing was changed."
      told.candidates = []
      told.hints = [
        "Choose another, or rename that account first: `lanyard rename \(ErrorMessages.shellWord(alias)) NEW`."
      ]
    } else if problem?.path == "/alias" {
      told.message = "An account can't be called \(alias). Nothing was changed."
    }
    return told
  }
}
