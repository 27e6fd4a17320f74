import CommandSupport

extension CommandFailure {
  /// Commands that errors advise and that need a provider.
  private static let needProvider = ["lanyard login", "lanyard provider update", "lanyard doctor --online"]

  /// The same failure, where the provider that was added for the import is removed again: without the commands that need
  /// it, and with `advice` in their place.
  func afterRemovingProvider(_ advice: String) -> CommandFailure {
    let sentences = message.split(separator: ". ").filter(Self.needsNoProvider).joined(separator: ". ")
    var told = self
    told.message = sentences.isEmpty || sentences.hasSuffix(".") ? sentences : sentences + "."
    told.hints = hints.filter { Self.needsNoProvider($0[...]) }
    if told.message != message || told.hints != hints { told.hints.append(advice) }
    return told
  }

  private static func needsNoProvider(_ text: Substring) -> Bool {
    !needProvider.contains { text.contains("`\($0)") }
  }
}
