/// A user of the practice provider.
public struct PracticeUser: Sendable, Equatable {
  /// The name that the user types to sign in; unique within the tenant.
  public var name: String
  /// `sub` of the tokens.
  public var subject: String
  public var password: String
  public var displayName: String
  public var email: String
  /// `tid` of the tokens.
  public var tenant: String
  public var roles: [String]
  public var entitlements: [String]
  /// A disabled user's refresh tokens and sign-ins are refused.
  public var isDisabled: Bool
  /// Grows with each change of roles or entitlements; `/entitlements` returns it.
  public internal(set) var version: Int64 = 1

  public init(
    name: String,
    subject: String? = nil,
    password: String? = nil,
    displayName: String? = nil,
    email: String? = nil,
    tenant: String = "acme",
    roles: [String] = [],
    entitlements: [String] = [],
    isDisabled: Bool = false
  ) {
    self.name = name
    self.subject = subject ?? "\(name)-\(tenant)"
    self.password = password ?? name
    self.displayName = displayName ?? name.prefix(1).uppercased() + name.dropFirst()
    self.email = email ?? "\(name)@\(tenant).example"
    self.tenant = tenant
    self.roles = roles
    self.entitlements = entitlements
    self.isDisabled = isDisabled
  }

  /// `alice`, `alice@acme`, the e-mail address and the subject all mean Alice.
  func isCalled(_ text: String) -> Bool {
    text == name || text == "\(name)@\(tenant)" || text == email || text == subject
  }
}

extension [PracticeUser] {
  /// Alice and Carol of Acme, Bob of Globex, and Alice again, who also works for Globex. Passwords are the names.
  public static var builtIn: [PracticeUser] {
    [
      PracticeUser(
        name: "alice",
        displayName: "Alice Archer",
        tenant: "acme",
        roles: ["technician"],
        entitlements: ["workorders.basic", "offline"]
      ),
      PracticeUser(
        name: "bob",
        displayName: "Bob Baker",
        tenant: "globex",
        roles: ["supervisor", "technician"],
        entitlements: ["offline", "reports", "workorders.basic"]
      ),
      PracticeUser(
        name: "carol",
        displayName: "Carol Cole",
        tenant: "acme",
        roles: ["trainee"],
        entitlements: ["workorders.basic"]
      ),
      PracticeUser(
        name: "alice",
        displayName: "Alice Archer",
        tenant: "globex",
        roles: ["auditor"],
        entitlements: ["reports"]
      ),
    ]
  }
}
