/// A parameter that the agent did not accept (error -32602), in the words of the command line.
public struct ParameterProblem: Sendable {
  /// A JSON Pointer (RFC 6901) into the parameters; empty for all of them. For programs.
  public let path: String
  /// The value that the contract expects: the name of a type, or a sentence. For programs.
  public let expected: String

  /// One line for a person: what the value should be.
  public var hint: String { "Expected for \(name { Self.names[$0] ?? Self.spelledOut($0) }): \(expectation)." }

  /// As `hint`, for a program whose own arguments have the names of the contract's parameters.
  public var parameterHint: String { "Expected for \(name { $0 }): \(expectation)." }

  /// `word`: the part of the command line, or of another call, that the parameter of this name came from.
  private func name(_ word: (String) -> String) -> String {
    let steps = path.split(separator: "/").filter { Int($0) == nil }
    guard let step = steps.last else { return "the parameters" }
    if steps.count == 2, steps[0] == "headers" { return "the header \(step)" }
    return word(String(step))
  }

  /// The expected value in plain words, without patterns and JSON types.
  public var expectation: String {
    if expected.hasPrefix("string like ") { return Self.shapes[lastStep] ?? "a text without spaces and special signs" }
    if expected.hasPrefix("string of ") { return "a text of " + expected.dropFirst("string of ".count) }
    if expected.hasPrefix("integer from ") { return "a whole number from " + expected.dropFirst("integer from ".count) }
    if expected.hasPrefix("array of ") { return "a list of " + expected.dropFirst("array of ".count) }
    // Words of `lanyard events`, also those that only a newer agent knows.
    if lastStep == "types" { return expected }
    switch expected {
    case "string": return "a text"
    case "array": return "a list"
    case "boolean": return "true or false"
    case "object": return "a JSON object"
    case "member of params": return "a setting that this agent knows"
    default: return CommandWords.translated(expected)
    }
  }

  private var lastStep: String { path.split(separator: "/").last { Int($0) == nil }.map(String.init) ?? "" }

  private static let names: [String: String] = [
    "account": "the account", "accounts": "the account", "acrValues": "--acr", "after": "--after", "alias": "--alias",
    "at": "--at", "authorizationDetails": "--details", "authorizationDetailTypes": "--details-type",
    "capabilities": "--capability", "capability": "the capability", "claims": "--claims",
    "client": "the name of the program", "durationSeconds": "--duration", "expiresAt": "--expires",
    "expiresInSeconds": "--expires-in", "grant": "the grant", "idempotencyKey": "--idempotency-key",
    "limit": "--limit", "maxAgeSeconds": "--max-age", "methods": "--method",
    "minimumLifetimeSeconds": "--minimum-lifetime", "name": "the name", "operation": "the operation",
    "origins": "--origin", "passOrigins": "--pass", "passphrase": "the passphrase",
    "path": "the file", "pin": "the PIN", "policy": "the policy", "protection": "the protection",
    "provider": "the provider", "redirectUrl": "the address from the browser", "refreshToken": "the refresh token",
    "resource": "--aud", "resources": "--resource", "revocation": "the revocation", "scopes": "--scope",
    "secret": "the key", "sensitivity": "--sensitivity", "slot": "the key slot", "state": "--state",
    "timeoutSeconds": "--timeout", "types": "--type", "username": "--username",
  ]

  /// The contract's patterns in plain words, by the name of the parameter.
  private static let shapes: [String: String] = [
    "account": "an alias, an id or @active", "accounts": "an alias, an id or @active",
    "alias": "up to 64 letters, digits and . _ @ -, beginning with a letter or digit, and not with acc_",
    "at": "an instant like 2030-01-01T00:00:00Z",
    "bodyBase64": "bytes in Base64, with letters, digits, + and /",
    "capability": "up to 128 letters, digits and . _ : -, beginning with a letter or digit",
    "grant": "a grant as `lanyard grant list` shows it",
    "methods": "a method, a name space with .* behind it, or *",
    "name": "up to 64 letters (lower-case for a provider), digits and . _ -, beginning with a letter or digit",
    "operation": "an operation as `lanyard operations` shows it",
    "policy": "up to 64 letters, digits and . _ -, beginning with a letter or digit",
    "provider": "up to 64 lower-case letters, digits and . _ -, beginning with a letter or digit",
    "revocation": "a revocation as `lanyard revocations` shows it",
    "scopes": "a scope without spaces, quotes and backslashes",
  ]

  /// `graceSeconds` as "grace seconds".
  private static func spelledOut(_ name: String) -> String {
    name.reduce(into: "") { text, letter in
      if letter.isUppercase { text += " \(letter.lowercased())" } else { text.append(letter) }
    }
  }
}
