import CommandSupport
import ProxyCore
import Synchronization
import TLSServing

/// What all connections share.
final class Proxy: Sendable {
  let scope: ProxyScope
  let authorizer: Authorizer
  /// Nil if no origin is `https`.
  let authority: RunAuthority?
  /// Nil at a unix socket.
  let secret: ProxySecret?
  let hangUps = HangUps()
  let revocations: RevocationWatch
  let notes = RefusalNotes()
  private let ending = Atomic(false)
  private let connections = Atomic(0)

  /// A program opens some dozens at most. Each has a thread.
  static let mostConnections = 256

  init(_ scope: ProxyScope, _ agent: AgentPool, authority: RunAuthority?, secret: ProxySecret?) {
    self.scope = scope
    self.authority = authority
    self.secret = secret
    authorizer = Authorizer(agent, scope)
    revocations = RevocationWatch(agent, scope, hangUps)
  }

  /// No further request is taken.
  var isEnding: Bool { ending.load(ordering: .acquiring) }
  func end() { ending.store(true, ordering: .releasing) }

  /// The requests that run now.
  var transferCount: Int { revocations.transferCount }

  func transfer<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    revocations.begin()
    defer { revocations.end() }
    return try body()
  }

  /// False if there are too many connections.
  func admit() -> Bool {
    guard connections.add(1, ordering: .acquiringAndReleasing).newValue <= Self.mostConnections else {
      release()
      return false
    }
    return true
  }

  func release() { connections.subtract(1, ordering: .acquiringAndReleasing) }
}
