internal import JSONRPC

extension CommandFailure {
  /// More would fill the screen.
  private static let mostCandidates = 8

  /// Adds the person and the provider of each account that matches to the hints. Unchanged where the agent does not tell.
  func describingCandidates() -> CommandFailure {
    guard name == "accountAmbiguous", !candidates.isEmpty, var agent = try? Agent.connect(mayStart: false) else {
      return self
    }
    var lines: [String] = []
    for id in candidates.prefix(Self.mostCandidates) {
      try? agent.call("account.get", params: { $0.member("account", id) }) { account in
        let words = [
          account["alias"]?.string.map { "\($0)," }, account["displayName"]?.string,
          account["email"]?.string.map { "<\($0)>" }, account["provider"]?.string.map { "at \($0)" },
        ]
        lines.append("\(id): \(words.compactMap { $0 }.joined(separator: " "))")
      }
    }
    guard lines.count == min(candidates.count, Self.mostCandidates) else { return self }
    var told = self
    told.hints = lines + ["Name one by its id, which stands first, or by its alias."]
    return told
  }
}
