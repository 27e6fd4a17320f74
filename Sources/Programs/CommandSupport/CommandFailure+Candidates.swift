internal import JSONRPC

extension CommandFailure {
  /// More would fill the screen.
  private static let mostCandidates = 8

  /// Names the account in the hints by its alias, where the person did not name it: the commands take both, and an id says
  /// nothing to a person. Unchanged where the agent does not tell.
  func namingByAlias() -> CommandFailure {
    guard let account, hints.contains(where: { $0.contains(account) }) else { return self }
    let agent = try? Agent.connect(
      mayStart: false, tellsWaiting: false, patienceMilliseconds: Self.patienceMilliseconds)
    guard var agent else { return self }
    let alias = try? agent.call("account.get", params: { $0.member("account", account) }) { $0["alias"]?.string }
    guard let alias else { return self }
    return replacingInHints(account, by: ErrorMessages.shellWord(alias))
  }

  func replacingInHints(_ text: String, by other: String) -> CommandFailure {
    var told = self
    told.hints = hints.map { $0.split(separator: text, omittingEmptySubsequences: false).joined(separator: other) }
    return told
  }

  /// Adds the person and the provider of each account that matches to the hints. Unchanged where the agent does not tell.
  func describingCandidates() -> CommandFailure {
    guard name == "accountAmbiguous", !candidates.isEmpty, var agent = try? Agent.connect(mayStart: false) else {
      return self
    }
    var lines: [String] = []
    for id in candidates.prefix(Self.mostCandidates) {
      try? agent.call("account.get", params: { $0.member("account", id) }) { account in
        let words = [
          account["displayName"]?.string, account["email"]?.string.map { "<\($0)>" },
          account["provider"]?.string.map { "at \($0)" },
        ]
        lines.append("\(account["alias"]?.string ?? id): \(words.compactMap { $0 }.joined(separator: " "))")
      }
    }
    guard lines.count == min(candidates.count, Self.mostCandidates) else { return self }
    var told = self
    // The agent tells programs to name it by its id.
    let advice = " Name one of the candidates by its id."
    if message.hasSuffix(advice) { told.message = String(message.dropLast(advice.count)) }
    told.hints = lines + ["Name one by the word before the colon."]
    return told
  }
}
