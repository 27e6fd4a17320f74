import CommandSupport

extension CommandFailure {
  /// The same failure, with the server that could not be reached or did not answer: the agent names none.
  ///
  /// - Parameter provider: the one that the agent asked.
  func naming(_ provider: ProviderInfo) -> CommandFailure {
    let subject = "The provider "
    guard ["offline", "providerUnavailable"].contains(name), !isOfThisSide, message.hasPrefix(subject),
      let server = provider.server
    else { return self }
    var told = self
    told.message = "\(subject)\(provider.name) (\(server)) \(message.dropFirst(subject.count))"
    return told
  }

  /// The same failure; where the provider refused a new account's key, with the provider and the command that takes
  /// another, and where a key is not of the account's person, with the commands that do take one.
  ///
  /// - Parameter account: gets the key; nil for a new one.
  func offeringAnotherKey(at provider: ProviderInfo, for account: AccountInfo?) -> CommandFailure {
    var told = self
    if reason == "identityMismatch" {
      let parts = message.split(separator: "`lanyard login`", omittingEmptySubsequences: false)
      told.message = parts.joined(separator: "`lanyard login \(provider.name)`")
      told.hints = []
      if let account, account.takesItsOwnKeyAlone {
        let name = ErrorMessages.shellWord(account.label)
        told.hints.append("`lanyard login --account \(name)` takes the same key as before.")
      }
      return told
    }
    guard reason == "secretRefused", account == nil else { return self }
    let server = provider.server.map { " (\($0))" } ?? ""
    told.message = "The provider \(provider.name)\(server) refuses this secret. Nothing was kept."
    told.hints = ["Copy it once more, or make another one on the provider's page: `lanyard login \(provider.name)`."]
    return told
  }
}
