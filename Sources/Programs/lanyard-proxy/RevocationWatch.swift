import CommandSupport
import Glibc
import JSONRPC
import ProxyCore
import Synchronization
import Threads

/// Ends requests that run once their grant is revoked or has ended, or their account is signed out (docs/proxy.md,
/// Decisions). It asks the agent once a second, while requests run.
final class RevocationWatch: Sendable {
  private let agent: AgentPool
  private let scope: ProxyScope
  private let hangUps: HangUps
  private let wakeUp = WakeUp()
  private let transfers = Atomic(0)

  private static let pauseMicroseconds: useconds_t = 1_000_000

  init(_ agent: AgentPool, _ scope: ProxyScope, _ hangUps: HangUps) {
    self.agent = agent
    self.scope = scope
    self.hangUps = hangUps
  }

  /// False if there is no thread left.
  func start() -> Bool {
    wakeUp.descriptor >= 0 && DetachedThread.start { [self] in run() }
  }

  /// A request begins.
  func begin() {
    transfers.add(1, ordering: .acquiringAndReleasing)
    wakeUp.signal()
  }

  /// It has ended.
  func end() { transfers.subtract(1, ordering: .acquiringAndReleasing) }

  /// The requests that run now.
  var transferCount: Int { transfers.load(ordering: .acquiring) }

  private func run() {
    while true {
      var entry = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, -1) > 0 else { continue }
      wakeUp.clear()
      repeat {
        usleep(Self.pauseMicroseconds)
        look()
      } while transferCount > 0
    }
  }

  /// An agent that does not answer has revoked nothing.
  private func look() {
    let running = hangUps.accounts
    guard !running.isEmpty else { return }
    do throws(CommandFailure) {
      guard try isGrantLive() else { return hangUps.cancelAll() }
      let signedOut = try signedOut()
      for account in running where signedOut.contains(account) { hangUps.cancel(account: account) }
    } catch {}
  }

  private func isGrantLive() throws(CommandFailure) -> Bool {
    guard let grant = scope.grant else { return true }
    return try agent.call("grant.list") { result in
      result["grants"]?.elements.contains { $0["grant"]?.string == grant.id } ?? false
    }
  }

  /// The accounts of this proxy that are signed out or gone.
  private func signedOut() throws(CommandFailure) -> Set<String> {
    let signedIn = try agent.call("account.list") { result in
      Set(
        (result["accounts"].map { Array($0.elements) } ?? []).compactMap { node -> String? in
          node["state"]?.string?.hasPrefix("signedOut") == true ? nil : node["id"]?.string
        })
    }
    return Set(scope.accounts.map(\.id)).subtracting(signedIn)
  }
}
