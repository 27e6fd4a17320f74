internal import AgentModel
internal import JSONRPC

/// Whom an ID token names. It is read before anything else of the token is judged: one that names another person is
/// theirs, however malformed it is otherwise (OpenID Connect Core §12.2).
///
/// The token came from the token endpoint over TLS, so the claims are compared without its signature (§3.1.3.7, 6).
public struct IDTokenOwner: Sendable, Equatable {
  /// Each value of `iss` and of `sub` that is a string: a token may name one twice.
  public private(set) var issuers: [String] = []
  public private(set) var subjects: [String] = []

  public init(of token: UnsafeRawBufferPointer) {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count > 1, let payload = Base64URL.decodeLeniently(parts[1]) else { return }
    payload.withUnsafeBytes { claims in
      do throws(IDTokenFailure) {
        try StrictJSON.object(claims, duplicateKeys: .allowed) { (node) throws(IDTokenFailure) in
          for (name, value) in node.members {
            if name.isText("iss"), let text = value.string { issuers.append(text) }
            if name.isText("sub"), let text = value.string { subjects.append(text) }
          }
        }
      } catch {
        readMembers(of: claims)
      }
    }
  }

  /// Claims that are cut, too deep, or no UTF-8: the members that can be told apart still name the person.
  private mutating func readMembers(of claims: UnsafeRawBufferPointer) {
    for member in LenientMembers(claims) {
      guard case .text(let value) = member.value else { continue }
      let text = String(decoding: claims[value], as: UTF8.self)
      if claims[member.name].elementsEqual("iss".utf8) { issuers.append(text) }
      if claims[member.name].elementsEqual("sub".utf8) { subjects.append(text) }
    }
  }

  /// Another issuer or another person; nil also for a token that names none.
  public func change(fromIssuer isKnown: (String) -> Bool, subject: String) -> IDTokenFailure? {
    if !subjects.allSatisfy({ equalCodePoints($0, subject) }) { return .subjectChanged }
    return issuers.allSatisfy(isKnown) ? nil : .issuerChanged
  }
}
