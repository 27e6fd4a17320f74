import Foundation
import LoopbackHTTP

/// An API that takes keys in each of the ways that services have (docs/secrets.md): `/keyed/whoami`, `/keyed/revoke` and,
/// for all else below `/keyed/`, what the request was. The same below `/botKEY/keyed/`.
extension ProviderState {
  mutating func keyed(_ request: HTTPRequest, _ path: String) throws(OAuthError) -> HTTPResponse {
    let (inPath, place) = Self.secret(inPath: path)
    guard let found = inPath ?? Self.secret(of: request), let index = secrets.owner(of: found) else {
      // One that stands in the body is all that a revocation may have.
      if place == "/keyed/revoke", let named = Self.secret(inBodyOf: request) { return end(named) }
      throw OAuthError(code: "invalid_key", status: 401, headers: [("WWW-Authenticate", "Bearer realm=\"keyed\"")])
    }
    let user = context.options.users[index]
    switch place {
    case "/keyed/whoami":
      guard !user.isDisabled else { throw OAuthError(code: "disabled", status: 403) }
      return .json([
        "id": .integer(Int64(index) + 41), "login": .string(user.subject),
        "profile": ["name": .string(user.displayName), "email": .string(user.email)], "roles": .strings(user.roles),
      ])
    case "/keyed/revoke": return end(Self.secret(inBodyOf: request) ?? found)
    default:
      let effect = effects.perform(request)
      if request.queryItems.contains(where: { $0.name == "echo" }) { return .json(["key": .string(found)]) }
      return .json([
        "login": .string(user.subject), "method": .string(request.method), "path": .string(place),
        "query": .strings(request.queryItems.map(\.name)),
        "username": Self.basic(request).map { .string($0.name) } ?? .null,
        "effect": .integer(effect),
      ])
    }
  }

  private mutating func end(_ secret: String) -> HTTPResponse {
    secrets.end(secret) ? HTTPResponse(status: 204) : .notFound
  }

  // MARK: where a key stands

  private static func secret(inPath path: String) -> (secret: String?, place: String) {
    guard path.hasPrefix("/bot"), let slash = path.dropFirst().firstIndex(of: "/") else { return (nil, path) }
    let text = path[path.index(path.startIndex, offsetBy: 4)..<slash]
    return (PercentEncoding.decode(Array(text.utf8), plusIsSpace: false), String(path[slash...]))
  }

  private static func secret(of request: HTTPRequest) -> String? {
    if let header = request.header("X-Api-Key") { return header }
    if let header = request.header("Authorization"), header.lowercased().hasPrefix("bearer ") {
      return String(header.dropFirst(7))
    }
    return basic(request)?.password ?? request.queryItems.first { $0.name == "key" }?.value
  }

  /// RFC 7617: user name and password as they are.
  private static func basic(_ request: HTTPRequest) -> (name: String, password: String)? {
    guard let header = request.header("Authorization"), header.lowercased().hasPrefix("basic "),
      let bytes = Data(base64Encoded: String(header.dropFirst(6))), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    return (String(decoding: bytes[..<colon], as: UTF8.self), String(decoding: bytes[(colon + 1)...], as: UTF8.self))
  }

  private static func secret(inBodyOf request: HTTPRequest) -> String? {
    if let json = try? PracticeJSON(parsing: request.body), let secret = json["secret"]?.stringValue { return secret }
    return request.formItems.first { $0.name == "secret" }?.value
  }
}
