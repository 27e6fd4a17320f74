internal import SecretJSON
internal import AgentCore
package import AgentModel
package import JSONRPC
internal import Secrets
internal import Synchronization

/// A fresh access token that the reading thread answers without a hop to the actor: `Account` publishes it.
///
/// The answer is kept as the two halves of a JSON object around `expiresInSeconds`, the only member that changes with
/// time. The first half holds the token, so both are in guarded memory, and in one piece: with ten thousand accounts
/// each further memory access is a cache miss.
package final class PublishedToken: Sendable {
  package let account: AccountID
  let serial: UInt64
  package let lifetime: Milliseconds
  let refreshAt: BootInstant
  package let expiresAt: BootInstant
  /// For requests that the agent sends with the token.
  let requestToken: RequestToken
  private let halves: SecretBytes
  private let headCount: Int
  /// Milliseconds of the boot clock; 0: never.
  fileprivate let used = Atomic<Int64>(0)

  package init(_ token: IssuedToken, account: AccountID, issuer: String, expiresAt: Timestamp) {
    self.account = account
    serial = token.facts.serial
    lifetime = token.facts.lifetime
    refreshAt = token.facts.refreshAt
    self.expiresAt = token.facts.expiresAt
    requestToken = RequestToken(token)
    var answer = JSONWriter(capacity: token.secret.count + 768)
    answer.beginObject()
    answer.member("accessToken", token.secret)
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
    answer.endObject()
    halves = SecretBytes(capacity: answer.count) { target in
      answer.withBytes { target.copyMemory(from: $0) }
      return target.count
    }
  }

  func noteUse(at now: BootInstant) { used.store(now.milliseconds, ordering: .relaxed) }

  /// When `TokenCache` last served the token; nil if it never did.
  var lastUsed: BootInstant? {
    let used = used.load(ordering: .relaxed)
    return used == 0 ? nil : BootInstant(milliseconds: used)
  }

  /// The part for `TokenCache`, which keeps the token as long as this part.
  var shown: Shown {
    halves.withBytes { halves in
      Shown(
        lifetime: lifetime, refreshAt: refreshAt, expiresAt: expiresAt,
        head: UnsafeRawBufferPointer(rebasing: halves[..<headCount]),
        tail: UnsafeRawBufferPointer(rebasing: halves[headCount...]), token: self)
    }
  }

  /// The part of a token that `TokenCache` stores beside its key: counting references to one of ten thousand objects
  /// would double the time of a look-up.
  package struct Shown: @unchecked Sendable {
    // Points into the token's guarded memory: used only under the lock of `TokenCache`, which owns the token.
    package let lifetime: Milliseconds
    let refreshAt: BootInstant
    package let expiresAt: BootInstant
    package let head: UnsafeRawBufferPointer
    let tail: UnsafeRawBufferPointer
    package unowned(unsafe) let token: PublishedToken

    /// True if the token is fresh: for a stale one the actor decides about a refresh.
    package func serves(_ minimum: Milliseconds, at now: BootInstant) -> Bool {
      now < refreshAt && (minimum >= lifetime || now + minimum <= expiresAt)
    }

    package func write(at now: BootInstant, to writer: inout JSONWriter) {
      token.noteUse(at: now)
      writer.verbatim(head)
      writer.digits((expiresAt - now).wholeSeconds)
      writer.verbatim(tail)
    }
  }
}
