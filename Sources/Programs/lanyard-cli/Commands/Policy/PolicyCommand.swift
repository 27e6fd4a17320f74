import ArgumentParser

/// `lanyard policy`
struct PolicyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Set, check and show the documents that say what is allowed without the provider.",
    discussion: """
      A provider names its policy (`lanyard provider add … --policy NAME`); the policy `default` is for the others. What \
      no policy allows is denied.
      """,
    subcommands: [PolicyShow.self, PolicyList.self, PolicySet.self, PolicyCheck.self, PolicyExplain.self])
}
