/// What `lanyard setup claude --skill` writes.
struct AgentSkill: Equatable {
  /// The file of the grant for the tools; nil: the text alone.
  var grant: String?

  /// Of the skill, and of the entry of its tools.
  static let name = "lanyard"
}
