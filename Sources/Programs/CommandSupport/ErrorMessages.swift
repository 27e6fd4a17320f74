internal import JSONRPC

/// The agent's errors in the words of the command line.
///
/// No method name, JSON Pointer or pattern reaches a person: `test_messages.py` checks it for every error of the
/// contract.
public enum ErrorMessages {
  private static let methodNotFound: Int64 = -32601

  /// The failure and its consequences, for the person. `reason`: `data.reason`.
  static func message(code: Int64, _ message: String?, reason: String? = nil) -> String {
    guard code != methodNotFound else { return "The running agent does not know this command." }
    if code == 4001, let missing = reason.flatMap(MissingApproval.init) {
      return missing.message + " It was not sent, or its redirect was not followed."
    }
    guard let message else { return "The agent refused this command." }
    // Some messages refer to `data`, which only programs see; the hints show its contents.
    if message.contains("data.path") { return "The agent did not accept a value of this command. Nothing was changed." }
    if message.contains("data.problems") { return "The policy document is not valid. Nothing was changed." }
    if message.contains("data.decision") { return "The policy does not allow this now. Nothing was stored or changed." }
    if message.contains("data.supported") {
      return "The agent and this program speak different versions of the protocol."
    }
    if message.hasSuffix("data says how.") { return "The server demands that you sign in again." }
    return CommandWords.translated(message)
  }

  /// Next steps for the person.
  static func hints(code: Int64, name: String, data: JSONNode?, problem: ParameterProblem?) -> [String] {
    guard code != methodNotFound else {
      return ["It may be older than this program. `lanyard stop` ends it; the next command starts the new one."]
    }
    let account = data?["account"]?.string
    if code == 4001, let missing = data?["reason"]?.string.flatMap(MissingApproval.init) { return [missing.hint] }
    // The message names the file or the bundle by which the organisation decides: no command of the person's helps.
    if data?["source"] != nil { return [byRemedy("administrator", account: account)].compactMap { $0 } }
    var hints = facts(data, problem)
    if name == "notFound", data?["kind"]?.string == "pin" {
      hints.append("`lanyard step-up\(account.map { " \($0)" } ?? "") --enroll` sets one.")
    }
    // The caller's own wish: neither the provider's settings nor its administrator are at fault.
    let wish = ["invalid_scope", "invalid_target", "notSupported", "noIdToken"].contains(data?["reason"]?.string)
    // The message has the command that lists an origin.
    if wish || name == "originNotAllowed" { return hints }
    // The message says how to get the library.
    if name == "offline", CommandFailure.isOfLibrary(data?["reason"]?.string) { return [] }
    if name == "offline", CommandFailure.isOfProxy(data?["reason"]?.string) {
      return hints + ["Check the proxy's address and its credentials, or try again later."]
    }
    // Whom to ask about a disabled account, the message says.
    let remedies = name == "accountLocked" ? [] : data?["remedies"]?.elements.compactMap(\.string) ?? []
    let command = data.map { signInCommand(account, demanded: $0) }
    if name == "interactionRequired", let command, command != signInCommand(account) {
      hints.append("Sign in again, as the server demands it: `\(command)`.")
      return hints
    }
    let reason = data?["reason"]?.string
    // The message says what is wrong with the file of a machine's token, and what helps.
    if let reason, reason.hasPrefix("subjectToken") { return hints }
    // Where a parameter is at fault, no server was asked.
    if name == "untrustedServer", data?["path"] == nil, ["unknownAuthority", "wrongName"].contains(reason) {
      hints.append(
        "The network may have a sign-in page that answers instead of the server: open any page in a browser.")
    }
    for hint in [byName(name, account: account)] + remedies.map({ byRemedy($0, account: account) }) {
      if let hint, !hints.contains(hint) { hints.append(hint) }
    }
    // A person takes longer than a second to type the command again.
    if let wait = data?["retryAfterMs"]?.integer, wait > 1000 {
      hints.append("Try again in \((wait + 999) / 1000) s.")
    }
    return hints
  }

  private static func facts(_ data: JSONNode?, _ problem: ParameterProblem?) -> [String] {
    var facts: [String] = []
    if let reason = data?["reason"]?.string { facts.append("Reason: \(Text.words(reason)).") }
    if let problem { facts.append(problem.hint) }
    if let left = data?["attemptsLeft"]?.integer { facts.append("Attempts left: \(left).") }
    let candidates = data?["candidates"]?.elements.compactMap(\.string) ?? []
    if !candidates.isEmpty { facts.append("Candidates: \(candidates.joined(separator: ", ")).") }
    return facts
  }

  private static func signIn(_ account: String?) -> String { "Sign in again: `\(signInCommand(account))`." }

  private static func signInCommand(_ account: String?) -> String {
    "lanyard login\(account.map { " --account \($0)" } ?? "")"
  }

  /// The command that meets what a server demands of the person.
  private static func signInCommand(_ account: String?, demanded data: JSONNode) -> String {
    var words = [signInCommand(account)]
    for value in data["acrValues"]?.elements.compactMap(\.string) ?? [] { words += ["--acr", shellWord(value)] }
    if let age = data["maxAgeSeconds"]?.integer { words += ["--max-age", "\(age)"] }
    for scope in data["scopes"]?.elements.compactMap(\.string) ?? [] { words += ["-s", shellWord(scope)] }
    if let claims = data["claims"]?.string { words += ["--claims", shellWord(claims)] }
    return words.joined(separator: " ")
  }

  /// A word that a shell takes as it is. The server chose it.
  public static func shellWord(_ text: String) -> String {
    let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/=+@%".utf8
    if !text.isEmpty, !text.hasPrefix("-"), text.utf8.allSatisfy(plain.contains) { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  private static func byName(_ name: String, account: String?) -> String? {
    switch name {
    case "accountNotFound": "`lanyard list` shows the accounts, `lanyard login` adds one."
    case "accountAmbiguous": "Name one by its id: `lanyard list` shows them."
    case "signedOut", "reauthenticationRequired", "interactionRequired", "dataLocked": signIn(account)
    case "signInFailed": "`lanyard login` begins a new sign-in."
    case "providerNotFound": "`lanyard provider list` shows the providers, `lanyard provider add URL` adds one."
    case "providerMisconfigured", "untrustedServer": "`lanyard doctor --online` checks the providers."
    case "agentLocked": byRemedy("unlock", account: account)
    case "accountLocked":
      "Once it is enabled again: `\(signInCommand(account))`, or wait 15 minutes."
    case "offline": byRemedy("connect", account: account)
    case "notPermitted":
      "LANYARD_GRANT_FILE names the file of the grant that this program presents."
    case "policyInvalid": "`lanyard policy check FILE` shows where."
    case "storeUnavailable": "`lanyard doctor` shows what is wrong with the store."
    case "rolledBack", "integrity": byRemedy("administrator", account: account)
    default: nil
    }
  }

  private static func byRemedy(_ remedy: String, account: String?) -> String? {
    switch remedy {
    case "unlock": "Unlock the vault: `lanyard unlock`."
    case "connect": "Check the network, or try again later."
    case "stepUp": "Confirm that it is you: `lanyard step-up\(account.map { " \($0)" } ?? "")`."
    case "interact", "reauthenticate": signIn(account)
    case "administrator": "Ask the administrator of this provider or machine."
    default: nil
    }
  }
}
