package import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Decides what an answer of the token endpoint says about the refresh token, before the agent keeps or judges it.
///
/// A provider may spend a refresh token when it answers 2xx. If tokens can be read, they are kept. If they can't, the
/// provider has still answered: an empty body, JSON without tokens or a text in an unknown form may be all that is left
/// of an answer with tokens, and where refresh tokens rotate its outcome is unknown (I4). Only an answer that is
/// plainly of another server, a page for people, is none: the refresh token is as good as before.
package enum TokenResponseClassifier {
  package enum Kind: Equatable {
    case tokens, refusal
    /// Tokens begin here that can't be read.
    case damaged
    /// A complete answer without tokens that is not plainly of another server.
    case withoutTokens
    /// A page for people: a portal or a proxy answered.
    case foreign
  }

  /// True if enough of a success arrived before the response was cut: its whole JSON text, or the whole refresh token
  /// in it. A form has no end, so its last value may be half of one.
  package static func isReadable(partial response: HTTPResponse) -> Bool {
    guard (200...299).contains(response.status) else { return false }
    let body = response.body.withoutPreface
    let isWhole = ProviderJSON.read(body) { $0.kind == .object || $0.kind == .array } ?? false
    return isWhole || LenientTokenReader.refreshToken(in: body) != nil
  }

  /// True if a token endpoint answered a request without a token, whatever it said: not a portal, a proxy or a gateway before
  /// it, whose answers are pages, redirects and errors of the server. Some servers refuse with a status alone.
  package static func isAnswer(_ response: HTTPResponse) -> Bool {
    switch response.status {
    case 200...299, 400...499:
      if ProviderJSON.read(response.body, { $0.kind }) == .object || FormAnswer(response.body)?["error"] != nil {
        return true
      }
      return response.status >= 400 && !response.isPage && !response.isMarkup
    default: return false
    }
  }

  package static func sort(_ response: HTTPResponse) -> Kind {
    guard (200...299).contains(response.status) else { return .refusal }
    if let answer = TokenResponse(body: response.body), answer.hasTokens { return .tokens }
    let body = response.body.withoutPreface
    let shape = ProviderJSON.read(body) { node -> Kind? in
      // Tokens that can't be told apart.
      if node["access_token"].holdsText || node["refresh_token"].holdsText { return .damaged }
      // An error with 200, as GitHub answers.
      return node.saysError ? .refusal : .withoutTokens
    }
    if let shape { return shape }
    return body.withBytes { bytes in
      switch bytes.first(where: { !$0.isBlank }) {
      // An encoding that can't be mended: it begins with a mark, or has NULs in it.
      case UInt8(ascii: "{")?, 0xFE?, 0xFF?, 0xEF?, 0?: .damaged
      case UInt8(ascii: "<")?: bytes.contains("refresh_token") ? .damaged : .foreign
      case nil: .withoutTokens
      default: response.isPage && !bytes.contains("refresh_token") ? .foreign : .withoutTokens
      }
    }
  }
}

extension JSONNode? {
  fileprivate var holdsText: Bool { self.map { $0.kind == .string && $0.textCapacity > 0 } ?? false }
}

extension UnsafeRawBufferPointer {
  fileprivate func contains(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { text in
      guard count >= text.count else { return false }
      return (0...(count - text.count)).contains { self[$0...].starts(with: text) }
    }
  }
}
