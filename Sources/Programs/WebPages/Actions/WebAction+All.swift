internal import AgentModel

extension WebAction {
  static let all: [String: WebAction] = [
    "lock": simple(.accounts, "agent.lock", "The vault is locked. Programs get no tokens until you unlock it."),
    "unlock": WebAction(
      .accounts, { _ in "The vault is unlocked." },
      // No key slot opens it without the person: a passphrase does, which the agent asks for.
      instead: [invalidParams: AgentQuestion(answer, "agent.unlock", ["prompt": "pinentry"])]
    ) { _ throws(FormProblem) in AgentQuestion(answer, "agent.unlock") },
    "sign-in": signIn, "add-key": addKey, "sign-out": signOut,
    "switch-account": simple(.accounts, "account.switch", "The active account was changed.", ["account"]),
    "check-account": simple(
      .accounts, "snapshot.refresh", "The account is up to date.", ["account"]),
    "decide-approval": decideApproval, "decide-access": decideAccess,
    "revoke-grant": simple(.programs, "grant.revoke", "The grant is revoked. It serves nothing any more.", ["grant"]),
    "create-grant": createGrant,
    "retry-operation": simple(
      .waiting, "operation.retry", "The operation waits for its turn again.", ["account", "operation"]),
    "cancel-operation": simple(
      .waiting, "operation.cancel", "The operation was abandoned, and is not sent.", ["account", "operation"]),
    "retry-revocation": WebAction(
      .waiting,
      { result in
        let left = result["revocations"]?.elements.count ?? 0
        return left == 0 ? "The token is revoked." : "Tried again. \(Words.count(left, "token")) still to be revoked."
      }
    ) { form throws(FormProblem) in
      AgentQuestion(answer, "revocation.retry", ["revocation": .string(try required("revocation", form))])
    },
    "abandon-revocation": simple(
      .waiting, "revocation.abandon", "The revocation was abandoned, and its token erased here.", ["revocation"]),
  ]

  /// An action that hands on texts of its form and says one thing.
  private static func simple(
    _ page: WebPage, _ method: String, _ success: String, _ names: [String] = []
  ) -> WebAction {
    WebAction(page, { _ in success }) { form throws(FormProblem) in
      var params: [String: JSONValue] = [:]
      for name in names { params[name] = .string(try required(name, form)) }
      return AgentQuestion(answer, method, .object(params))
    }
  }

  private static let signIn = WebAction(
    .accounts,
    { result in
      guard let code = result["userCode"]?.string, let place = result["verificationUri"]?.string else {
        return "Go on at your provider. The account appears here once you are signed in."
      }
      return "Open \(place) on any device and enter the code \(code). The account appears here once you are signed in."
    }
  ) { form throws(FormProblem) in
    let flow = form["flow"] ?? "browser"
    guard ["browser", "device"].contains(flow) else {
      throw FormProblem(message: "Choose how to sign in: in this browser, or with a code.")
    }
    var params: [String: JSONValue] = ["provider": .string(try required("provider", form)), "flow": .string(flow)]
    if let account = form["account"], !account.isEmpty { params["account"] = .string(account) }
    if let alias = form["alias"], !alias.isEmpty { params["alias"] = .string(alias) }
    return AgentQuestion(answer, "signIn.begin", .object(params))
  }

  /// A key that a person types: it goes to the agent, and into no page.
  private static let addKey = WebAction(
    .accounts, { _ in "The key is kept. The page does not have it." }
  ) { form throws(FormProblem) in
    var params: [String: JSONValue] = [
      "provider": .string(try required("provider", form)), "secret": .string(try required("secret", form)),
    ]
    for name in ["username", "alias"] {
      if let text = form[name], !text.isEmpty { params[name] = .string(text) }
    }
    if let day = form["expires"], !day.isEmpty {
      // From its beginning, as `lanyard login --expires` takes it.
      let begin = JSONValue.string("\(day)T00:00:00.000Z")
      guard let moment = begin.moment, moment.rfc3339.hasPrefix(day) else {
        throw FormProblem(message: "Nothing was kept: the day when the key ends is no date, such as 2030-06-30.")
      }
      params["expiresAt"] = begin
    }
    return AgentQuestion(answer, "account.add", .object(params))
  }

  private static let signOut = WebAction(
    .accounts,
    { result in
      let data =
        switch result["data"]?.string {
        case "sealed": "Its data stays here, sealed until the same person signs in again."
        case "erasurePending": "Its data is erased as soon as the disk takes it."
        default: "Its data was erased."
        }
      let tokens =
        switch result["revocation"]?.string {
        case "confirmed": " Its tokens are revoked."
        case "queued": " Its tokens are revoked once the provider can be reached: see Waiting."
        case "refused": " The provider refuses to revoke its tokens; it is asked again in a day."
        case "unsupported": " Its provider can't revoke tokens: they end by themselves."
        default: ""
        }
      return "Signed out. \(data)\(tokens)"
    }
  ) { form throws(FormProblem) in
    let mode = form["mode"] ?? ""
    guard ["soft", "hard"].contains(mode) else {
      throw FormProblem(message: "Nothing was done: choose whether its data is kept or erased.")
    }
    return AgentQuestion(
      answer, "account.signOut", ["account": .string(try required("account", form)), "mode": .string(mode)])
  }

  private static let decideApproval = WebAction(
    .approvals,
    { result in
      switch result["verdict"]?.string {
      case "once": "Allowed, this once."
      case "session": "Allowed, and such requests of this account too, until the grant or the agent ends."
      default: "Denied. The same request is not asked again for a minute."
      }
    }
  ) { form throws(FormProblem) in
    let verdict = form["verdict"] ?? ""
    guard ["once", "session", "deny"].contains(verdict) else {
      throw FormProblem(message: "Nothing was decided: choose one of the buttons.")
    }
    return AgentQuestion(
      answer, "approval.decide", ["approval": .string(try required("approval", form)), "verdict": .string(verdict)])
  }

  private static let decideAccess = WebAction(
    .approvals,
    { result in
      result["status"]?.string == "allowed"
        ? "Allowed: the grant has it now." : "Denied. The same is not asked again for a minute."
    }
  ) { form throws(FormProblem) in
    let verdict = form["verdict"] ?? ""
    guard ["allow", "deny"].contains(verdict) else {
      throw FormProblem(message: "Nothing was decided: choose one of the buttons.")
    }
    var params: [String: JSONValue] = ["request": .string(try required("request", form)), "verdict": .string(verdict)]
    if verdict == "allow", let seconds = try lifetime(form) { params["expiresInSeconds"] = .integer(seconds) }
    return AgentQuestion(answer, "access.decide", .object(params))
  }

  private static let createGrant = WebAction(
    .programs,
    { result in
      let methods = result["methods"]?.elements.compactMap(\.string) ?? []
      guard [GrantAbility.requests, .tokens].contains(where: { methods.contains($0.methods[0]) }) else {
        return
          "The grant is there. A program can use it only by its secret: a grant of `lanyard grant create` shows that, once."
      }
      // Several grants may have one name.
      let id = result["grant"]?.string ?? "GRANT"
      return "The grant is there. Start a program under it: `lanyard sandbox --grant \(id) -- COMMAND`"
    }
  ) { form throws(FormProblem) in
    let client = try required("client", form)
    let accounts = ticked("account.", form)
    guard !accounts.isEmpty else {
      throw FormProblem(message: "No grant was created: choose an account that the program may use.")
    }
    let abilities = ticked("can.", form).compactMap { GrantAbility(rawValue: $0) }
    guard !abilities.isEmpty else {
      throw FormProblem(message: "No grant was created: choose what the program may do.")
    }
    var params: [String: JSONValue] = [
      "client": .string(client), "accounts": .array(accounts.map { .string($0) }),
      "methods": .array(GrantAbility.methods(of: abilities).map { .string($0) }),
    ]
    let origins = (form["origins"] ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
    if !origins.isEmpty { params["origins"] = .array(origins.map { .string($0) }) }
    if let seconds = try lifetime(form) { params["expiresInSeconds"] = .integer(seconds) }
    if form["agent"] != nil { params["agent"] = true }
    return AgentQuestion(answer, "grant.create", .object(params))
  }

  /// The error's code of the contract for a parameter that is missing or wrong.
  private static let invalidParams = -32602

  // MARK: fields

  private static func required(_ name: String, _ form: [String: String]) throws(FormProblem) -> String {
    guard let value = form[name], !value.isEmpty else {
      throw FormProblem(message: "Nothing was done: the form lacks the \(name == "client" ? "program's name" : name).")
    }
    return value
  }

  /// The names after a prefix whose boxes are ticked.
  private static func ticked(_ prefix: String, _ form: [String: String]) -> [String] {
    form.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }.sorted()
  }

  /// Nil: until it is revoked.
  private static func lifetime(_ form: [String: String]) throws(FormProblem) -> Int64? {
    guard let text = form["expiresInSeconds"], !text.isEmpty else { return nil }
    guard let seconds = Int64(text), (1...31_622_400).contains(seconds) else {
      throw FormProblem(message: "Nothing was done: choose how long it is allowed.")
    }
    return seconds
  }
}
