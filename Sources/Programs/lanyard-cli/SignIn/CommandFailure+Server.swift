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
}
