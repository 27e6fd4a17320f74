/// The names of the contract in Go: `expiresAt` is `ExpiresAt`, `url` is `URL`.
enum GoNames {
  /// Words that Go writes in another way than with one capital letter.
  private static let initialisms: [String: String] = [
    "acr": "ACR", "ca": "CA", "dpop": "DPoP", "http": "HTTP", "id": "ID", "ids": "IDs", "json": "JSON",
    "jwks": "JWKS", "jwt": "JWT", "mtls": "MTLS", "pkce": "PKCE", "rpc": "RPC", "tls": "TLS", "uri": "URI",
    "uris": "URIs", "url": "URL", "urls": "URLs",
  ]

  /// An exported name. Anything but letters and digits separates words.
  static func exported(_ name: String) -> String {
    var words: [String] = []
    var isNew = true
    for character in name {
      guard character.isLetter || character.isNumber else {
        isNew = true
        continue
      }
      if isNew || character.isUppercase {
        words.append(String(character))
      } else {
        words[words.count - 1].append(character)
      }
      isNew = false
    }
    return words.map { initialisms[$0.lowercased()] ?? $0.capitalizedFirst }.joined()
  }

  /// `Token.Get`: how a caller writes a method, after the client.
  static func path(of method: Method) -> String { exported(method.namespace) + "." + exported(method.verb) }

  /// `ErrSignedOut`: what `errors.Is` compares with.
  static func constant(of error: ErrorKind) -> String { "Err" + stem(of: error) }

  /// `SignedOutError`: what `errors.As` finds.
  static func type(of error: ErrorKind) -> String { stem(of: error) + "Error" }

  private static func stem(of error: ErrorKind) -> String {
    let name = exported(error.name)
    return name.hasSuffix("Error") ? String(name.dropLast(5)) : name
  }
}

/// The names of the contract in the comments of the Go client.
struct GoNaming: ClientNaming {
  /// Words of enumerations. An error with such a name keeps it, since a comment may mean the word.
  private let words: Set<String>

  init(_ contract: Contract) {
    words = contract.types.reduce(into: []) { words, type in
      if case .enumeration(let more) = type.schema.kind { words.formUnion(more) }
    }
  }

  func member(_ name: String) -> String { GoNames.exported(name) }
  func method(_ method: Method) -> String { GoNames.path(of: method) }
  func error(_ error: ErrorKind) -> String {
    words.contains(error.name) ? error.name : GoNames.constant(of: error)
  }
  func literal(_ value: JSONValue) -> String { value.compact }
}
