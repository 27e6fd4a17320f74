internal import AgentModel
package import Secrets

/// Text that a person copied from the browser: the whole address, its end, or the code that a page showed.
///
/// An address carries the state, which is checked. A code alone carries none: that it belongs to this sign-in is then
/// proved by PKCE at the token endpoint (RFC 7636 §1: a code that another client asked for has another challenge) and
/// by the nonce in the ID token, so that a code that an attacker made a person paste completes no sign-in. A
/// provider with neither takes no code alone (`Provider.bindsCodes`).
package enum PastedAnswer: Equatable {
  case query(String)
  case code(String)

  /// Parameters by which an address is known that was copied without its beginning.
  private static let parameters = ["code", "error", "iss", "scope", "session_state", "state"]

  /// Nil if it is neither.
  package init?(_ pasted: Secret) {
    let text = pasted.withBytes { String(decoding: $0, as: UTF8.self) }.trimmed
    // Some pages add one (`#_=_`); the answer is never in it (response_mode=query).
    let address = text.prefix { $0 != "#" }
    if let mark = address.firstIndex(of: "?") {
      self = .query(String(address[address.index(after: mark)...]))
    } else if Self.parameters.contains(where: { address.hasPrefix("\($0)=") }) {
      self = .query(String(address))
    } else {
      // As it stands in an address, or as a page shows it.
      let code = PercentCoding.decode(text.utf8) ?? text
      guard !address.contains("://"), code.isCode else { return nil }
      self = .code(code)
    }
  }
}

extension String {
  /// Without what a terminal or a mail puts around a copied line: blanks, quotes, the angle brackets of RFC 3986
  /// Appendix C.
  fileprivate var trimmed: String {
    let dependencies: Set<Character> = [" ", "\t", "\r", "\n", "\r\n", "\"", "'", "<", ">"]
    let beginning = drop { dependencies.contains($0) }
    let end = beginning.lastIndex { !dependencies.contains($0) }
    return end.map { String(beginning[...$0]) } ?? ""
  }

  /// RFC 6749 Appendix A.11, without the blank, which no server uses and every sentence has.
  fileprivate var isCode: Bool { !isEmpty && utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
