internal import AgentPorts
internal import AgentVault
internal import JSONRPC
internal import Secrets

/// Whose words an answer of the token endpoint is, before it is kept or judged.
///
/// A refresh token is spent where new ones were issued, so a 2xx asks: is this what is left of tokens? What holds some is
/// kept; what is broken off where they would stand may have held some, and the outcome is unknown (I4). But a page, a
/// JSON value without tokens, or nothing at all is a whole answer in which nothing was issued: somebody else spoke, a
/// portal or a proxy, or the server was confused, as with any 5xx, and the token is as good as before. (That the HTTP
/// message is whole is known: one that was cut off never comes here, RFC 9112 §8.)
enum TokenResponseClassifier {
  package enum Kind: Equatable {
    case tokens, refusal, damaged, foreign
  }

  static func sort(_ response: HTTPResponse) -> Kind {
    guard (200...299).contains(response.status) else { return .refusal }
    if let answer = TokenResponse(body: response.body), answer.hasTokens { return .tokens }
    let shape = RecordCoding.read(response.body.withoutByteOrderMark) { node -> Kind? in
      // Tokens that can't be told apart.
      if node["access_token"].holdsText || node["refresh_token"].holdsText { return .damaged }
      // `error` with 200, as GitHub answers.
      return node["error"].holdsText ? .refusal : .foreign
    }
    if let shape { return shape }
    return response.body.withBytes { bytes in
      switch bytes.first(where: { !$0.isBlank }) {
      // UTF-16 begins with a mark or has NULs in it: it is not JSON (RFC 8259 §8.1), and may be meant to be.
      case UInt8(ascii: "{")?, 0xFE?, 0xFF?, 0xEF?, 0?: .damaged
      default: .foreign
      }
    }
  }
}

extension JSONNode? {
  fileprivate var holdsText: Bool { self.map { $0.kind == .string && $0.textCapacity > 0 } ?? false }
}

extension UInt8 {
  /// White space of RFC 8259 §2.
  fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0A).contains(self) || self == 0x0D }
}
