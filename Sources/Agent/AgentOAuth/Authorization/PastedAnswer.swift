internal import AgentModel
package import Secrets

/// Text that a person copied from the browser: the whole address, its end, or the code that a page showed.
///
/// An address carries the state, which is checked. A code alone carries none: that it belongs to this sign-in is then
/// proved by PKCE at the token endpoint (RFC 7636 §1: a code that another client asked for has another challenge) and
/// by the nonce in the ID token, so that a code that an attacker made a person paste completes no sign-in. A
/// provider with neither takes no code alone (`Provider.bindsCodes(askedWith:)`).
package enum PastedAnswer: Equatable {
  case query(Secret)
  case code(Secret)

  /// Parameters by which an address is known that was copied without its beginning.
  private static let parameters = ["code", "error", "iss", "scope", "session_state", "state"].map {
    Array("\($0)=".utf8)
  }

  /// Nil if it is neither.
  package init?(_ pasted: Secret) {
    guard let answer = pasted.withBytes({ Self.read($0.trimmed) }) else { return nil }
    self = answer
  }

  private static func read(_ text: Slice<UnsafeRawBufferPointer>) -> PastedAnswer? {
    // Some pages add one (`#_=_`); the answer is never in it (response_mode=query).
    let address = text.prefix { $0 != UInt8(ascii: "#") }
    if let mark = address.firstIndex(of: UInt8(ascii: "?")) {
      return .query(address[address.index(after: mark)...].secret)
    }
    if parameters.contains(where: { address.starts(with: $0) }) { return .query(address.secret) }
    // As it stands in an address, or as a page shows it.
    let code = Secret.percentDecoding(text) ?? text.secret
    guard !address.namesScheme, code.isCode else { return nil }
    return .code(code)
  }

  package static func == (a: PastedAnswer, b: PastedAnswer) -> Bool {
    switch (a, b) {
    case (.query(let a), .query(let b)), (.code(let a), .code(let b)): a.equals(b)
    default: false
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Without what a terminal or a mail puts around a copied line: blanks, quotes, the angle brackets of RFC 3986
  /// Appendix C.
  fileprivate var trimmed: Slice<UnsafeRawBufferPointer> {
    let around = Array(" \t\r\n\"'<>".utf8)
    var text = drop { around.contains($0) }
    while let last = text.last, around.contains(last) { text.removeLast() }
    return text
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate var secret: Secret { Secret(copying: UnsafeRawBufferPointer(rebasing: self)) }

  fileprivate var namesScheme: Bool {
    let mark = Array("://".utf8)
    return indices.contains { self[$0...].starts(with: mark) }
  }
}

extension Secret {
  /// RFC 6749 Appendix A.11, without the blank, which no server uses and every sentence has.
  fileprivate var isCode: Bool { count > 0 && withBytes { $0.allSatisfy { (0x21...0x7E).contains($0) } } }
}
