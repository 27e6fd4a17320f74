internal import AgentModel
package import Secrets

/// Text that a person copied from the browser: the whole address, its end, or the code that a page showed.
///
/// An address carries the state, which is checked. A code alone carries none: that it belongs to this sign-in is then
/// proved by PKCE at the token endpoint (RFC 7636 §1: a code that another client asked for has another challenge) and
/// by the nonce in the ID token, so that a code that an attacker made a person paste completes no sign-in. A
/// provider with neither takes no code alone (`Provider.bindsCodes(askedWith:)`). Nothing in a code shows which server made
/// it, and in an end of an address its `iss` alone: beside other providers the whole address is needed.
package enum PastedAnswer: Equatable {
  /// `base`: the address up to its query.
  case address(base: Secret, query: Secret)
  case query(Secret)
  case code(Secret)

  /// True for an address to which another request had the browser sent back: another host, port or path. A browser may
  /// leave out the scheme, and a person the port, which no provider is known by.
  package func isElsewhere(than redirectURI: String) -> Bool {
    guard case .address(let base, _) = self, let url = HTTPURL(redirectURI) else { return false }
    let known = [redirectURI, "http://\(url.hostText)\(url.path)"]
    return !known.contains { base.equals(Secret(text: $0)) || base.equals(Secret(text: String($0.dropFirst(7)))) }
  }

  /// Parameters by which an address is known that was copied without its beginning.
  private static let parameters = ["code", "error", "iss", "scope", "session_state", "state"].map {
    Array("\($0)=".utf8)
  }

  /// Nil if it is neither.
  package init?(_ pasted: Secret) {
    let whole = pasted.plain.withBytes { Self.joined($0.trimmed) }
    guard let answer = whole.withBytes({ Self.read($0[...]) }) else { return nil }
    self = answer
  }

  /// An address as it was before a terminal wrapped it, a mail put blanks into it or a page wrote it as HTML. A code is
  /// joined over the ends of lines alone: words with blanks between them are a sentence, and no code.
  private static func joined(_ text: Slice<UnsafeRawBufferPointer>) -> Secret {
    let isAddress = text.contains(UInt8(ascii: "?")) || parameters.contains { text.starts(with: $0) }
    var plain = SecretBuilder()
    var isAfterLineEnd = false
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\r"), UInt8(ascii: "\n"): isAfterLineEnd = true
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        if !isAddress, !isAfterLineEnd { plain.append(byte) }
      default:
        isAfterLineEnd = false
        plain.append(byte)
        if isAddress, byte == UInt8(ascii: "&"), let name = ampersands.first(where: { rest.starts(with: $0) }) {
          rest = rest.dropFirst(name.count)
        }
      }
    }
    return plain.finish()
  }

  /// What stands behind the `&` of an ampersand in HTML.
  private static let ampersands = ["amp;", "#38;", "#038;", "#x26;", "#X26;"].map { Array($0.utf8) }

  private static func read(_ text: Slice<UnsafeRawBufferPointer>) -> PastedAnswer? {
    // Some pages add one (`#_=_`); the answer is never in it (response_mode=query).
    let address = text.prefix { $0 != UInt8(ascii: "#") }
    if let mark = address.firstIndex(of: UInt8(ascii: "?")) {
      let (base, query) = (address[..<mark], address[address.index(after: mark)...].secret)
      let isWhole = base.first.map { $0 != UInt8(ascii: "/") } ?? false
      return isWhole ? .address(base: base.secret, query: query) : .query(query)
    }
    if parameters.contains(where: { address.starts(with: $0) }) { return .query(address.secret) }
    // As it stands in an address, or as a page shows it.
    let code = Secret.percentDecoding(text) ?? text.secret
    guard !address.namesScheme, code.isCode else { return nil }
    return .code(code)
  }

  package static func == (a: PastedAnswer, b: PastedAnswer) -> Bool {
    switch (a, b) {
    case (.address(let a, let first), .address(let b, let second)): a.equals(b) && first.equals(second)
    case (.query(let a), .query(let b)), (.code(let a), .code(let b)): a.equals(b)
    default: false
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Without what a terminal or a mail puts around a copied line: blanks, quotes, the angle brackets of RFC 3986
  /// Appendix C.
  fileprivate var trimmed: Slice<UnsafeRawBufferPointer> {
    let around = Array(" \t\r\n\"'`<>".utf8)
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
  /// Without what an editor, a chat or a mail puts into a text unseen or in the place of plain characters: characters
  /// without width and typographic quotes go, and a blank or a line end that is none of ASCII becomes one. None of them is
  /// in an address or a code.
  fileprivate var plain: Secret {
    withBytes { bytes in
      var plain = SecretBuilder(capacity: bytes.count)
      var rest = bytes[...]
      while let byte = rest.first {
        let odd = byte < 0x80 ? nil : Self.oddCharacters.first { rest.starts(with: $0.bytes) }
        let replacement: UInt8? = if let odd { odd.replacement } else { byte }
        if let replacement { plain.append(replacement) }
        rest = rest.dropFirst(odd?.bytes.count ?? 1)
      }
      return plain.finish()
    }
  }

  private static let oddCharacters: [(bytes: [UInt8], replacement: UInt8?)] = {
    let blanks: [ClosedRange<UInt32>] = [
      0xA0...0xA0, 0x2000...0x200A, 0x202F...0x202F, 0x205F...0x205F, 0x3000...0x3000,
    ]
    let unseen: [ClosedRange<UInt32>] = [
      0xAB...0xAB, 0xAD...0xAD, 0xBB...0xBB, 0x200B...0x200F, 0x2018...0x201F, 0x202A...0x202E, 0x2039...0x203A,
      0x2060...0x2064, 0xFEFF...0xFEFF,
    ]
    func all(_ ranges: [ClosedRange<UInt32>], _ replacement: UInt8?) -> [(bytes: [UInt8], replacement: UInt8?)] {
      ranges.joined().compactMap { Unicode.Scalar($0) }.map { (Array(String($0).utf8), replacement) }
    }
    return all(blanks, UInt8(ascii: " ")) + all([0x2028...0x2029], UInt8(ascii: "\n")) + all(unseen, nil)
  }()

  /// RFC 6749 Appendix A.11, without the blank, which no server uses and every sentence has.
  fileprivate var isCode: Bool { count > 0 && withBytes { $0.allSatisfy { (0x21...0x7E).contains($0) } } }
}
