import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard policy draft`
struct PolicyDraft: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "draft",
    abstract: "Write a policy from the names of what programs may do.",
    discussion: """
      The names are those that `lanyard provider presets PROVIDER` lists, or read, write and delete for all of a kind. \
      The document is printed and nothing is set: change it as you like, then `lanyard policy set FILE`.

      EXAMPLES:
        lanyard policy draft github --allow read --confirm issues.create
        lanyard policy draft github --allow issues.comment --per-hour 20
      """)

  @Argument(help: "The provider, or a preset.", completion: .providers)
  var provider: String

  @Option(name: .long, help: "An operation, or a kind of them, that programs may do; may be repeated.")
  var allow: [String] = []

  @Option(
    name: .long, help: "One that programs may do after you confirmed it; may be repeated.")
  var confirm: [String] = []

  @Option(name: .long, help: "How often in an hour each of them may be used.")
  var perHour: Int64?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if allow.isEmpty, confirm.isEmpty { throw ValidationError("Say what programs may do: --allow read, for example.") }
  }

  func run() throws {
    var agent = try common.connect()
    do throws(CommandFailure) {
      try agent.call(
        "policy.draft",
        params: { writer in
          writer.member("provider", provider)
          writer.member("allow", allow)
          if !confirm.isEmpty { writer.member("confirm", confirm) }
          writer.member("perHour", perHour)
        }
      ) { result in
        if common.json { return Output.answer(json: result.raw) }
        Output.answer(LaidOutJSON.text(result["policy"] ?? result))
        // On stderr: the document on stdout stays one.
        for line in PolicyOverview.lines(result["policy"] ?? result) { Output.note(Text.shown(line)) }
      }
    } catch {
      throw explained(error)
    }
  }

  /// Names the word that is no operation, and those that are.
  private func explained(_ failure: CommandFailure) -> CommandFailure {
    var told = failure
    guard let problem = failure.problem else { return told }
    let steps = problem.path.split(separator: "/")
    if steps.count == 2, let index = Int(steps[1]) {
      let words = steps[0] == "allow" ? allow : confirm
      guard words.indices.contains(index) else { return told }
      told.message = "\(provider) has no operation \(words[index])."
      told.hints = ["`lanyard provider presets \(provider)` lists its operations."]
    } else if problem.path == "/provider" {
      told.message = "There are no operations to choose from: \(provider) is not \(problem.expected)."
      told.hints = ["`lanyard provider presets` lists the services that are known."]
    }
    return told
  }
}
