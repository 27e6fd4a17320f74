internal import AgentCore
package import AgentModel
package import JSONRPC
internal import SecretJSON
internal import Secrets
internal import Synchronization

/// A fresh access token that the reading thread answers without a hop to the actor: `Account` publishes it.
///
/// The answer is kept in parts: the token itself, which lies in guarded memory once for all its uses, and the text around
/// `expiresInSeconds`, the only member that changes with time. A copy of the whole would double the memory of an account.
package final class PublishedToken: Sendable {
  let account: AccountID
  package let serial: UInt64
  let lifetime: Milliseconds
  let refreshAt: BootInstant
  let expiresAt: BootInstant
  /// The same moment as the answer names it.
  package let namedExpiry: Timestamp
  /// For requests that the agent sends with the token.
  let requestToken: RequestToken
  /// The token as JSON has it: mostly the token itself.
  private let written: Secret
  private let text: AnswerText
  /// Milliseconds of the boot clock; 0: never.
  fileprivate let used = Atomic<Int64>(0)

  package init(_ token: IssuedToken, account: AccountID, issuer: String, expiresAt: Timestamp) {
    self.account = account
    serial = token.facts.serial
    lifetime = token.facts.lifetime
    refreshAt = token.facts.refreshAt
    self.expiresAt = token.facts.expiresAt
    namedExpiry = expiresAt
    requestToken = RequestToken(token)
    written = Self.written(token.secret)
    text = AnswerText(of: token, account: account, issuer: issuer, expiresAt: expiresAt)
  }

  /// The token without the quotation marks around it.
  private static func written(_ token: Secret) -> Secret {
    token.withBytes { bytes in
      guard bytes.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
        return token
      }
      var writer = JSONWriter(capacity: bytes.count * 6 + 2)
      writer.string(utf8: bytes)
      return writer.withBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[1..<$0.count - 1])) }
    }
  }

  func noteUse(at now: BootInstant) { used.store(now.milliseconds, ordering: .relaxed) }

  /// When `TokenCache` last served the token; nil if it never did.
  package var lastUsed: BootInstant? {
    let used = used.load(ordering: .relaxed)
    return used == 0 ? nil : BootInstant(milliseconds: used)
  }

  /// The part for `TokenCache`, which keeps the token as long as this part.
  package var shown: Shown {
    written.withBytes {
      Shown(
        lifetime: lifetime, refreshAt: refreshAt, expiresAt: expiresAt, secret: $0.baseAddress!,
        text: text.bytes.baseAddress!, secretCount: UInt32($0.count), headCount: UInt32(text.headCount),
        textCount: UInt32(text.bytes.count), token: self)
    }
  }

  /// The part of a token that `TokenCache` stores beside its key: counting references to one of ten thousand objects
  /// would double the time of a look-up.
  package struct Shown: @unchecked Sendable {
    // Points into the token's memory: used only under the lock of `TokenCache`, which owns the token.
    let lifetime: Milliseconds
    let refreshAt: BootInstant
    let expiresAt: BootInstant
    fileprivate let secret, text: UnsafeRawPointer
    fileprivate let secretCount, headCount, textCount: UInt32
    package unowned(unsafe) let token: PublishedToken

    /// True if the token is fresh: for a stale one the actor decides about a refresh.
    func serves(_ minimum: Milliseconds, at now: BootInstant) -> Bool {
      now < refreshAt && (minimum >= lifetime || now + minimum <= expiresAt)
    }

    package func write(at now: BootInstant, to writer: inout JSONWriter) {
      token.noteUse(at: now)
      let (head, all) = (Int(headCount), Int(textCount))
      writer.verbatim("{\"accessToken\":\"")
      writer.verbatim(UnsafeRawBufferPointer(start: secret, count: Int(secretCount)))
      writer.verbatim(UnsafeRawBufferPointer(start: text, count: head))
      writer.digits((expiresAt - now).wholeSeconds)
      writer.verbatim(UnsafeRawBufferPointer(start: text + head, count: all - head))
    }
  }
}

/// What stands in the answer after the token: nothing of it is secret.
private struct AnswerText: ~Copyable, @unchecked Sendable {
  // `@unchecked Sendable`: `bytes` has a single owner and is written only in `init`.
  let bytes: UnsafeRawBufferPointer
  /// The bytes before the value of `expiresInSeconds`.
  let headCount: Int

  init(of token: IssuedToken, account: AccountID, issuer: String, expiresAt: Timestamp) {
    var answer = JSONWriter(capacity: 1024)
    answer.verbatim("\",")
    answer.member("tokenType", token.tokenType)
    answer.member("expiresAt", expiresAt.rfc3339)
    answer.key("expiresInSeconds")
    headCount = answer.count
    answer.verbatim(",")
    answer.member("account", account.text)
    answer.member("issuer", issuer)
    answer.member("scopes", token.scopes.names)
    answer.member("source", TokenMachine.Source.cache.rawValue)
    answer.member("fingerprint", token.facts.fingerprint)
    answer.member("generation", Int64(token.generation))
    token.placement?.write(to: &answer, as: "placement", username: token.username)
    answer.endObject()
    bytes = answer.withBytes { text in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
      copy.copyMemory(from: text)
      return UnsafeRawBufferPointer(copy)
    }
  }

  deinit { bytes.deallocate() }
}
