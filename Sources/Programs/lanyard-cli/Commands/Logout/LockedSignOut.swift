import CommandSupport

extension CommandFailure {
  /// Says how to sign out while the vault is locked: the agent can't read which account has a name, nor the token that it
  /// has to revoke.
  ///
  /// - Parameter options: those of the command, as a person types them behind it.
  func explaining(signOutOf selection: AccountSelection, options: String) -> CommandFailure {
    let isActive = if case .active = selection.reason { true } else { false }
    let name = ErrorMessages.shellWord(selection.selector)
    return explaining(signOutBy: "lanyard logout \(isActive ? "--yes" : name)\(options)")
  }

  func explaining(signOutBy command: String) -> CommandFailure {
    var told = self
    told.message =
      "The vault is locked, and so are the tokens in it: nothing was signed out, and no program gets a token."
    told.hints = ["Unlock it, then sign out: `lanyard unlock`, `\(command)`."]
    return told
  }
}
