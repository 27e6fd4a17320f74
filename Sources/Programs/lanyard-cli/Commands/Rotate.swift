import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard rotate`
struct Rotate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Give an account another key.",
    discussion: """
      The provider is asked first: a key that it refuses, or that is another person's, changes nothing. The old key is \
      ended at the provider where that is possible.

      EXAMPLES:
        lanyard rotate hosting
        lanyard rotate hosting --key-file ~/new-key --expires 2030-06-30
        pass show hosting | lanyard rotate hosting --key-file -
      """)

  @Argument(help: "The account: its alias, e-mail address, name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var secret: SecretOptions
  @OptionGroup var common: CommonOptions

  func run() throws {
    let selection = try AccountSelection.choose(argument: account, option: common.account)
    var agent = try common.connect()
    let known = try AccountInfo.named(selection, via: &agent)
    guard known.kind == "secret" else {
      throw CommandFailure.usage(
        Text.shown("The account \(known.label) holds no key. Nothing was changed."),
        hints: ["Sign in again: `lanyard login --account \(ErrorMessages.shellWord(known.label))`."])
    }
    let provider = try ProviderInfo.named(known.provider, via: &agent)
    let page = common.json ? nil : provider.flatMap { KeyPage(of: $0, isOpened: false) }
    let given = try secret.read(question: "New key or password for \(known.label) (not shown): ", page: page)
    do throws(CommandFailure) {
      try agent.call("account.replace") { writer in
        writer.member("account", known.id)
        secret.write(given, to: &writer)
      } result: { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.done(Text.shown("Replaced: \(known.label) has the new key."))
      }
    } catch {
      throw provider.map { error.naming($0).offeringAnotherKey(at: $0, for: known) } ?? error
    }
  }
}
