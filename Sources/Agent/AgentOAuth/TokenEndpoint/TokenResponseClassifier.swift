internal import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Decides whether an answer of the token endpoint is the provider's own, before the agent keeps or judges it.
///
/// A provider spends a refresh token when it issues new tokens, so for a 2xx the question is whether it holds tokens,
/// or what is left of them. An answer that holds some is kept. One that breaks off where they would stand may have held
/// some, and the outcome is unknown (I4). But a page, a JSON value without tokens, or an empty body is a complete
/// answer that issued nothing: a portal or a proxy sent it, or the server was confused, as with any 5xx, and the
/// refresh token is as good as before. (The HTTP message is known to be complete: one that was cut off never comes
/// here, RFC 9112 §8.)
enum TokenResponseClassifier {
  package enum Kind: Equatable {
    case tokens, refusal, damaged, foreign
  }

  static func sort(_ response: HTTPResponse) -> Kind {
    guard (200...299).contains(response.status) else { return .refusal }
    if let answer = TokenResponse(body: response.body), answer.hasTokens { return .tokens }
    let shape = SecretJSON.read(response.body.withoutByteOrderMark) { node -> Kind? in
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
