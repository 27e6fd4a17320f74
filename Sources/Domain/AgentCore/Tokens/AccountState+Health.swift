extension AccountState {
  /// The one rule of an account's state, for an account in memory and for one that is only on the disk.
  ///
  /// - Parameters:
  ///   - isIssuedElsewhere: the provider is another client or server now, to which nothing of the account goes.
  ///   - needsPerson: the provider wants the person for one of the audiences.
  ///   - isOffline: there was no way to the provider at the last attempt.
  ///   - isDoubtHarmless: where the outcome of the last request is unknown, a replay may still repair that, or a token is
  ///     served until it expires.
  public init(
    health: TokenMachine.Health, isIssuedElsewhere: Bool, needsPerson: Bool, isOffline: Bool, isDoubtHarmless: Bool
  ) {
    self =
      switch health {
      case .signedOut: .signedOut
      case .locked: .locked
      case .reauthenticate: .reauthenticationRequired
      case .unknown where !isDoubtHarmless: .reauthenticationRequired
      case _ where isIssuedElsewhere: .interactionRequired
      case .ok, .unknown, .misconfigured: needsPerson ? .interactionRequired : isOffline ? .offlineStale : .active
      }
  }
}
