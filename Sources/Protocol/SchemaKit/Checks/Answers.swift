/// Checks of errors, notifications and policies against the contract.
extension Contract {
  /// Checks the `error` of a response. If `method` is nil (the request was unreadable), any error of the contract may
  /// occur.
  public func problems(inError error: JSONValue, of method: String? = nil) -> [Problem] {
    var problems: [Problem] = []
    for member in error.members ?? [] where !["code", "message", "data"].contains(member.name) {
      problems.append(Problem("/error/" + member.name, "does not belong to an error"))
    }
    if error["message"]?.string?.isEmpty != false { problems.append(Problem("/error/message", "expected text")) }
    guard let data = error["data"] else { return problems + [Problem("/error/data", "is missing")] }
    problems += validate(data, against: Schema(kind: .reference("errorData"), isSecret: false)).map {
      Problem("/error/data" + $0.pointer, $0.text)
    }
    guard let code = error["code"]?.integer, let known = errors.first(where: { $0.code == code }) else {
      return problems + [Problem("/error/code", "is not in errors.json")]
    }
    if data["name"]?.string != known.name { problems.append(Problem("/error/data/name", "expected \(known.name)")) }
    if known.name == "invalidParams", data["path"] == nil || data["expected"] == nil {
      problems.append(Problem("/error/data", "tells neither path nor expected"))
    }
    if let method = method.flatMap(self.method), code > 0,
      !method.errors.contains(known.name), !commonErrors.contains(known.name)
    {
      problems.append(Problem("/error/code", "methods/\(method.name).json does not list \(known.name)"))
    }
    return problems
  }

  /// Checks a whole notification.
  public func problems(inNotification notification: JSONValue) -> [Problem] {
    guard notification["method"] == "event" else { return [Problem("/method", "expected event")] }
    let params = notification["params"] ?? .null
    var problems = validate(params, against: Schema(kind: .reference("eventNotification"), isSecret: false)).map {
      Problem("/params" + $0.pointer, $0.text)
    }
    guard let event = params["type"]?.string.flatMap(event) else { return problems }
    if event.accountScoped, params["account"] == nil { problems.append(Problem("/params/account", "is missing")) }
    problems += validate(params["data"] ?? .null, against: event.data).map {
      Problem("/params/data" + $0.pointer, $0.text)
    }
    return problems
  }

  /// Checks a policy document.
  public func problems(inPolicy document: JSONValue) -> [Problem] { validate(document, against: policy) }

  /// Checks a policy bundle, but for the policies in it.
  public func problems(inBundle document: JSONValue) -> [Problem] { validate(document, against: bundle) }

  /// Checks a configuration file of the agent.
  public func problems(inConfiguration document: JSONValue) -> [Problem] { validate(document, against: configuration) }
}
