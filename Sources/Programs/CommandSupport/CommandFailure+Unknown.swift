internal import JSONRPC

/// The names in a request, as far as they stand for things of the agent.
struct AskedNames: Sendable {
  var provider: String?
  var policy: String?

  init(_ params: JSONNode, method: String) {
    provider = params["provider"]?.string ?? (method.hasPrefix("provider.") ? params["name"]?.string : nil)
    policy = params["policy"]?.string ?? (method.hasPrefix("policy.") ? params["name"]?.string : nil)
  }
}

extension CommandFailure {
  /// A person waits for it, so that a busy agent must not hold the failure up for long.
  static let patienceMilliseconds: Int32 = 500

  /// The failure is about a name that the agent does not know.
  var namesUnknown: Bool { name == "providerNotFound" || name == "notFound" }

  /// Names what the person probably meant where an account, a provider or a policy of that name is not there. Unchanged
  /// where the agent does not tell.
  func suggestingNames() -> CommandFailure {
    guard !hints.contains(where: { $0.hasPrefix("Did you mean") }) else { return self }
    switch name {
    case "accountNotFound" where account == nil:
      guard let selection = AccountSelection.lastNamed else { return self }
      guard !selection.isNamed else {
        return suggesting(selection.selector, from: "account.list", "accounts", ["alias", "email", "id"])
      }
      let told = suggesting(selection.selector, from: "account.list", "accounts", ["alias", "id"])
      guard told.hints == hints, isKnown(selection.selector, from: "account.list", "accounts", "email") else {
        return told
      }
      return told.refusingAddress(in: selection)
    case "providerNotFound":
      guard let typed = asked?.provider else { return self }
      var told = suggesting(typed, from: "provider.list", "providers", ["name"])
      // One whose file is gone is there.
      if source == nil { told.message = "There is no provider \(typed) here." }
      return told
    case "notFound":
      guard let typed = asked?.policy else { return self }
      return suggesting(typed, from: "policy.list", "policies", ["name"])
    default: return self
    }
  }

  private func suggesting(
    _ typed: String, from method: String, _ list: StaticString, _ members: [StaticString]
  ) -> CommandFailure {
    guard let meant = NearMiss.of(typed, among: names(from: method, list, members)) else { return self }
    var told = self
    told.hints.insert("Did you mean \(meant)?", at: 0)
    return told
  }

  private func isKnown(_ typed: String, from method: String, _ list: StaticString, _ member: StaticString) -> Bool {
    names(from: method, list, [member]).contains { $0.lowercased() == typed.lowercased() }
  }

  /// None where the agent does not tell.
  private func names(from method: String, _ list: StaticString, _ members: [StaticString]) -> [String] {
    let agent = try? Agent.connect(
      mayStart: false, tellsWaiting: false, patienceMilliseconds: Self.patienceMilliseconds)
    guard var agent else { return [] }
    let names = try? agent.call(method) { result in
      (result[list].map { Array($0.elements) } ?? []).flatMap { entry in members.compactMap { entry[$0]?.string } }
    }
    return names ?? []
  }

  /// The provider chooses the address, so it must not stand for an alias in a file or a variable.
  private func refusingAddress(in selection: AccountSelection) -> CommandFailure {
    var told = self
    told.message =
      "\(selection.reason.text) names an account by its e-mail address, \(selection.selector). Nothing was changed."
    told.hints.insert(
      "Name it there by its alias or its id, which `lanyard list` shows. An address counts on the command line only.",
      at: 0)
    return told
  }
}
