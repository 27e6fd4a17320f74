enum PasswordCheck {
  case good(Int)
  case wrong(chosen: Int?)
  case disabled(Int)
}

extension [PracticeUser] {
  func index(called name: String) -> Int? { firstIndex { $0.isCalled(name) } }

  func checkPassword(_ form: [(name: String, value: String)]) -> PasswordCheck {
    let name = form.first { $0.name == "username" }?.value ?? ""
    guard let index = index(called: name) else { return .wrong(chosen: nil) }
    guard form.contains(where: { $0 == ("password", self[index].password) }) else { return .wrong(chosen: index) }
    return self[index].isDisabled ? .disabled(index) : .good(index)
  }
}

extension PracticeOptions {
  /// The user to sign in without a page, if the options name one.
  func automaticUser(hint: String?) -> Int? {
    guard let name = autoApprove else { return nil }
    return hint.flatMap { users.index(called: $0) } ?? users.index(called: name)
  }

  /// Whom the tokens of a grant speak for: a user, or the client itself.
  func owner(of grant: Grant) -> PracticeUser {
    grant.userIndex.map { users[$0] } ?? PracticeUser(name: grant.clientID, subject: grant.clientID)
  }

  func checkUser(_ index: Int) throws(OAuthError) {
    if users[index].isDisabled { throw Refusal.disabledPerson.error(self) }
  }

  var errorOfDisabledUser: OAuthError {
    var error = OAuthError.invalidGrant("the grant is not valid")
    if let suberror = disabledUserSuberror {
      error.description = "the account is disabled"
      error.members = [.init("suberror", .string(suberror))]
    }
    return error
  }

  /// Changes a user; nil leaves a value unchanged. New roles or entitlements raise the version.
  mutating func changeUser(_ index: Int, disabled: Bool?, roles: [String]?, entitlements: [String]?) {
    if let disabled { users[index].isDisabled = disabled }
    if let roles { users[index].roles = roles }
    if let entitlements { users[index].entitlements = entitlements }
    if roles != nil || entitlements != nil { users[index].version += 1 }
  }
}

extension PracticeUser {
  func claims(of scopes: [String]) -> [PracticeJSON.Member] {
    var members: [PracticeJSON.Member] = []
    if scopes.contains("profile") {
      members.append(.init("name", .string(displayName)))
      members.append(.init("preferred_username", .string(name)))
    }
    if scopes.contains("email") {
      members.append(.init("email", .string(email)))
      members.append(.init("email_verified", true))
    }
    members.append(.init("roles", .strings(roles)))
    return members
  }
}
