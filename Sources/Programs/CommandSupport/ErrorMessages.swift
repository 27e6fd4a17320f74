internal import JSONRPC

/// What a person can do about an error, from its name, its facts and its remedies.
enum ErrorMessages {
  static func hints(name: String, data: JSONNode?) -> [String] {
    var hints = facts(data)
    if name == "notFound", data?["kind"]?.string == "pin" { hints.append("`lanyard step-up --enroll` sets one.") }
    if let own = byName(name, account: data?["account"]?.string) { hints.append(own) }
    if let remedies = data?["remedies"] {
      for remedy in remedies.elements.compactMap(\.string) {
        if let words = byRemedy(remedy, account: data?["account"]?.string), !hints.contains(words) {
          hints.append(words)
        }
      }
    }
    if let wait = data?["retryAfterMs"]?.integer, wait > 0 {
      hints.append("Worth another try in \((wait + 999) / 1000) s.")
    }
    return hints
  }

  private static func facts(_ data: JSONNode?) -> [String] {
    var facts: [String] = []
    if let reason = data?["reason"]?.string { facts.append("Reason: \(reason).") }
    if let path = data?["path"]?.string, let expected = data?["expected"]?.string {
      facts.append("\(path.isEmpty ? "The parameters" : path): expected \(expected).")
    }
    if let left = data?["attemptsLeft"]?.integer { facts.append("Attempts left: \(left).") }
    let candidates = data?["candidates"]?.elements.compactMap(\.string) ?? []
    if !candidates.isEmpty { facts.append("Candidates: \(candidates.joined(separator: ", ")).") }
    return facts
  }

  private static func signIn(_ account: String?) -> String {
    "Sign in again: `lanyard login\(account.map { " --account \($0)" } ?? "")`."
  }

  private static func byName(_ name: String, account: String?) -> String? {
    switch name {
    case "accountNotFound": "`lanyard list` shows the accounts, `lanyard login` adds one."
    case "accountAmbiguous": "Name one by its id: `lanyard list` shows them."
    case "signedOut", "reauthenticationRequired": signIn(account)
    case "interactionRequired": signIn(account)
    case "signInFailed": "`lanyard login` begins a new one."
    case "providerNotFound": "`lanyard provider list` shows the providers, `lanyard provider add` adds one."
    case "agentLocked": byRemedy("unlock", account: account)
    case "offline": byRemedy("connect", account: account)
    case "notPermitted":
      "A grant that covers more is made by `lanyard grant create`; LANYARD_GRANT_FILE names the file of one."
    case "rolledBack", "integrity": byRemedy("administrator", account: account)
    default: nil
    }
  }

  private static func byRemedy(_ remedy: String, account: String?) -> String? {
    switch remedy {
    case "unlock": "Unlock the vault: `lanyard unlock`."
    case "connect": "Connect to the network and try again."
    case "stepUp": "Confirm that it is you: `lanyard step-up`."
    case "interact", "reauthenticate": signIn(account)
    case "administrator": "Ask whoever administers this provider or machine."
    default: nil
    }
  }
}
