/// A real server in whose words, places and habits the practice provider answers: a file of `Tests/Providers`, whose
/// README tells the members. Everything else stays the practice provider's own: who may get which token, and when.
public struct Guise: Sendable {
  /// The name of the file.
  public let name: String
  /// The server's own name.
  public let title: String
  /// The preset of the agent that is for this server; nil if it has none.
  public let preset: String?

  /// The path of the issuer, as the server writes it.
  private let issuerPath: String
  let scopes: [String]
  /// How a client may send its secret to the token endpoint; empty where public clients do without one.
  let authentication: [ClientAuthenticationMethod]
  /// Where the endpoints are, as paths of the origin. What is not here, the server does not have.
  let endpoints: [GuiseEndpoint: String]
  /// The endpoints that no document tells to a client.
  let configured: [GuiseEndpoint]
  /// `identity` of `provider.add`; nil: the server says who the person is.
  let identity: String?
  let documents: [String: PracticeJSON]
  /// Options under the names of `/practice/options`.
  let behaviour: PracticeJSON
  let algorithm: SigningAlgorithm
  /// Answers, with values in braces (`PracticeJSON.filled`).
  let token: PracticeJSON
  let refresh: PracticeJSON
  let userInfo: PracticeJSON
  /// Changes of the claims of an ID token, and of each key.
  let idToken: PracticeJSON
  let key: PracticeJSON
  /// What stands before the keys in the key set.
  let foreignKeys: [PracticeJSON]
  let errors: [Refusal: Words]

  /// An answer that refuses.
  struct Words: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: PracticeJSON
  }

  /// The path of the issuer without a slash at its end.
  public var path: String { endsInSlash ? String(issuerPath.dropLast()) : issuerPath }
  var endsInSlash: Bool { issuerPath.hasSuffix("/") }

  /// Nil where the practice provider's own words serve. A server that says nothing of disabled people takes their
  /// refresh tokens for dead ones.
  func words(for refusal: Refusal) -> Words? {
    errors[refusal] ?? (refusal == .disabledPerson ? errors[.deadToken] : nil)
  }

  // MARK: All guises

  /// Sorted.
  public static var names: [String] { GuiseFiles.all.map(\.name) }

  /// Nil if there is no such guise.
  public static func named(_ name: String) -> Guise? {
    GuiseFiles.all.first { $0.name == name }.map { name, text in
      guard let json = try? PracticeJSON(parsing: Array(text.utf8)), let guise = Guise(name, json) else {
        fatalError("Tests/Providers/\(name).json has another form than its README says")
      }
      return guise
    }
  }

  /// Nil if the file does not have the form that the README says.
  init?(_ name: String, _ json: PracticeJSON) {
    guard let title = json["title"]?.stringValue, let issuerPath = json["issuer"]?.stringValue,
      let scopes = json["scopes"]?.strings, let token = json["token"], let told = json["endpoints"]?.members
    else { return nil }
    (self.name, self.title, self.issuerPath, self.scopes, self.token) = (name, title, issuerPath, scopes, token)
    preset = json["preset"]?.stringValue
    authentication = (json["authentication"]?.strings ?? []).compactMap(ClientAuthenticationMethod.init)
    var endpoints: [GuiseEndpoint: String] = [:]
    for member in told {
      guard let endpoint = GuiseEndpoint(rawValue: member.name), let path = member.value.stringValue else { return nil }
      endpoints[endpoint] = path
    }
    self.endpoints = endpoints
    configured = (json["configured"]?.strings ?? []).compactMap(GuiseEndpoint.init)
    identity = json["identity"]?.stringValue
    documents = Dictionary((json["documents"]?.members ?? []).map { ($0.name, $0.value) }) { $1 }
    behaviour = json["behaviour"] ?? [:]
    let algorithm = json["keys"]?["algorithm"]?.stringValue ?? SigningAlgorithm.rs256.rawValue
    guard let algorithm = SigningAlgorithm(rawValue: algorithm) else { return nil }
    self.algorithm = algorithm
    refresh = json["refresh"] ?? token
    userInfo = json["userinfo"] ?? [:]
    idToken = json["idToken"] ?? [:]
    key = json["keys"]?["each"] ?? [:]
    foreignKeys = json["keys"]?["before"]?.arrayValue ?? []
    var errors: [Refusal: Words] = [:]
    for member in json["errors"]?.members ?? [] {
      guard let refusal = Refusal(rawValue: member.name), let words = Words(member.value) else { return nil }
      errors[refusal] = words
    }
    self.errors = errors
  }
}

extension Guise.Words {
  fileprivate init?(_ json: PracticeJSON) {
    guard let status = json["status"]?.integerValue, let body = json["body"] else { return nil }
    self.status = Int(status)
    self.body = body
    headers = (json["headers"]?.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }
  }
}

extension PracticeJSON {
  fileprivate var strings: [String]? { arrayValue.map { $0.compactMap(\.stringValue) } }

  /// Of an object; nil for anything else.
  fileprivate var members: [Member]? { if case .object(let members) = self { members } else { nil } }
}
