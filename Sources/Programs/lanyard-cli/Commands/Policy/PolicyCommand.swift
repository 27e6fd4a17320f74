import ArgumentParser

/// `lanyard policy`
struct PolicyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Manage the policies that decide what is allowed, also offline.",
    discussion: """
      A provider names its policy (`lanyard provider add … --policy NAME`). The policy `default` applies to all other \
      providers. A capability that the policy does not allow is denied.
      """,
    subcommands: [
      PolicyShow.self, PolicyList.self, PolicySet.self, PolicyCheck.self, PolicyDraft.self,
      PolicyExplain.self, PolicyRefresh.self,
    ])
}
