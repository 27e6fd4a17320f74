internal import Synchronization

extension CommandFailure {
  /// For a command that only shows something: nothing else was to be expected than that it changes nothing.
  public static func tellNoChanges() { tellsNoChanges.store(true, ordering: .relaxed) }

  private static let tellsNoChanges = Atomic(false)

  func leavingOutChanges() -> CommandFailure {
    guard Self.tellsNoChanges.load(ordering: .relaxed) else { return self }
    var told = self
    told.message = Self.withoutChanges(message)
    told.hints.removeAll { $0 == Self.wentAway.hints[0] || $0 == Self.silent.hints[0] }
    return told
  }

  /// As a person is told it: with the names that were typed, and what was probably meant.
  public func inWords() -> CommandFailure {
    namingAccount().namingByAlias().leavingOutChanges().describingCandidates().suggestingNames()
  }

  /// A message without the sentence or clause that nothing was changed.
  public static func withoutChanges(_ message: String) -> String {
    var text = message
    for (note, instead) in [
      ("Nothing was changed; t", "T"), ("; nothing was changed.", "."), (" Nothing was changed.", ""),
    ] {
      text = text.split(separator: note, omittingEmptySubsequences: false).joined(separator: instead)
    }
    return text
  }
}
