internal import AgentModel
internal import JSONRPC

/// Whom an ID token names. It is read before anything else of the token is judged: one that names another person is
/// theirs, however malformed it is otherwise (OpenID Connect Core §12.2).
///
/// The token came from the token endpoint over TLS, so the claims are compared without its signature (§3.1.3.7, 6).
public struct IDTokenOwner: Sendable, Equatable {
  /// Each value of `iss` that is a string, and of `sub` that is a string or a number, by its digits: a token may name one
  /// twice. An empty one names none.
  public private(set) var issuers: [String] = []
  public private(set) var subjects: [String] = []

  public init(of token: UnsafeRawBufferPointer) {
    read(token)
    issuers.removeAll(where: \.isEmpty)
    subjects.removeAll(where: \.isEmpty)
  }

  private mutating func read(_ token: UnsafeRawBufferPointer) {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count > 1, let payload = Base64URL.decodeLeniently(parts[1]) else { return }
    payload.withUnsafeBytes { claims in
      do throws(IDTokenFailure) {
        try StrictJSON.object(payload, duplicateKeys: .allowed, isMended: true) {
          (node) throws(IDTokenFailure) in
          for (name, value) in node.members {
            if name.isText("iss"), let text = value.string { issuers.append(text) }
            if name.isText("sub"), let text = Self.subject(value) { subjects.append(text) }
          }
        }
      } catch {
        readMembers(of: claims)
      }
    }
  }

  /// Claims that are cut or too deep: the members that can be told apart still name the person.
  private mutating func readMembers(of claims: UnsafeRawBufferPointer) {
    for member in LenientMembers(claims) {
      let name = Self.value(of: claims, at: member.name)
      switch member.value {
      case .text(let place):
        let text = Self.value(of: claims, at: place)
        if name == "iss" { issuers.append(text) }
        if name == "sub" { subjects.append(text) }
      case .other(let place):
        let isNumber = claims[place].first.map { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 } ?? false
        if name == "sub", isNumber { subjects.append(String(decoding: claims[place], as: UTF8.self)) }
      case .cut: break
      }
    }
  }

  private static func subject(_ value: JSONNode) -> String? {
    value.kind == .number ? String(decoding: value.raw, as: UTF8.self) : value.string
  }

  /// The text between two quotes, without its escapes; as it stands, if it can't be read alone either.
  private static func value(of claims: UnsafeRawBufferPointer, at place: Range<Int>) -> String {
    let quoted = UnsafeRawBufferPointer(rebasing: claims[(place.lowerBound - 1)..<(place.upperBound + 1)])
    var tape = JSONTape()
    let isRead = (try? JSONScanner.scan(quoted, onto: &tape)) != nil
    return (isRead ? tape.withRoot(of: quoted) { $0.string } : nil) ?? String(decoding: claims[place], as: UTF8.self)
  }

  /// Another issuer or another person; nil also for a token that names none.
  public func change(fromIssuer isKnown: (String) -> Bool, subject: String) -> IDTokenFailure? {
    if !subjects.allSatisfy({ equalCodePoints($0, subject) }) { return .subjectChanged }
    return issuers.allSatisfy(isKnown) ? nil : .issuerChanged
  }
}
