import AgentServing
import AgentServing
import AgentModel
import AgentPorts
internal import AgentSessions
import Foundation
import KeyProviders
import SQLiteStore
import Secrets
import Synchronization
import SystemAdapters

/// A directory of mode 0700, removed at the end of the test.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    path = (NSTemporaryDirectory() + "/lanyard-transport-XXXXXX").withCString { template in
      let copy = strdup(template)!
      defer { free(copy) }
      return String(cString: mkdtemp(copy))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Wall and boot clock, moved only by the test.
final class ManualClock: AgentClock {
  let bootID = "boot-1"
  private struct Sleeper {
    var deadline: BootInstant
    var continuation: CheckedContinuation<Void, Never>
  }
  private struct State {
    var now: Int64 = 1_000_000
    var names = 0
    var sleepers: [Int: Sleeper] = [:]
  }
  private let state = Mutex(State())

  func wall() -> Timestamp { Timestamp(milliseconds: 1_893_456_000_000 + state.withLock { $0.now }) }
  func boot() -> BootInstant { BootInstant(milliseconds: state.withLock { $0.now }) }

  func advance(seconds: Int64) {
    let due = state.withLock { state in
      state.now += seconds * 1000
      let due = state.sleepers.filter { $0.value.deadline.milliseconds <= state.now }
      for name in due.keys { state.sleepers[name] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  func sleep(until deadline: BootInstant) async {
    let name = state.withLock { state in
      state.names += 1
      return state.names
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard !Task.isCancelled, deadline.milliseconds > state.now else { return true }
          state.sleepers[name] = Sleeper(deadline: deadline, continuation: continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: name) }?.continuation.resume()
    }
  }
}

/// A network without any connection.
struct NoNetwork: HTTPExchange {
  func send(_ request: HTTPRequest) async -> HTTPOutcome { .notConnected(.refused) }
  func serverKey(for request: HTTPRequest) async -> ServerKey { .failed(.notConnected(.refused)) }
}

struct NoSignatures: SignatureVerifier {
  func isValid(_ signature: [UInt8], over: [UInt8], by: PublicKey, algorithm: SignatureAlgorithm) -> Bool { false }
  func halfHash(_ token: UnsafeRawBufferPointer, algorithm: SignatureAlgorithm) -> [UInt8]? { nil }
}

/// A redirect listener that no browser reaches, which is enough for a pending sign-in.
struct NoRedirects: RedirectListenerFactory {
  struct Listener: RedirectListener {
    let redirectURI = "http://127.0.0.1:1/callback"
    func stop() {}
  }
  func listen(
    host: String, port: UInt16?, path: String, onRequest: @escaping @Sendable (Secret) async -> RedirectPage,
    onRefusal: @escaping @Sendable (RedirectRefusal) -> Void
  ) throws(RedirectFailure) -> any RedirectListener { Listener() }
}

/// A real agent on a real store, without a network. Its clock stands still until the test advances it.
final class AgentUnderTest: Sendable {
  let clock = ManualClock()
  let service: AgentServer
  private let told: Told
  private let directory = TemporaryDirectory()
  private let running: Task<Void, Never>

  init(limits: ServingLimits = ServingLimits()) async throws {
    let environment = AgentEnvironment(
      clock: clock, entropy: SystemEntropy(), http: NoNetwork(), signatures: NoSignatures(), redirects: NoRedirects(),
      directories: NoDirectoryAccounts(), log: SilentLog())
    let store = try SQLiteStore(path: directory.path + "/store.sqlite")
    let told = Told()
    self.told = told
    let service = AgentServer(
      store: store, keySource: KeyFile(path: directory.path + "/key"), environment: environment, version: "test",
      limits: limits,
      onShutDown: { told.action.withLock { $0 }?() })
    self.service = service
    _ = try await service.open(protection: "keyFile")
    running = Task { await service.run() }
  }

  private final class Told: Sendable {
    let action = Mutex<(@Sendable () -> Void)?>(nil)
  }

  /// The transport's action at the end of the agent.
  func onShutDown(_ action: @escaping @Sendable () -> Void) { told.action.withLock { $0 = action } }

  /// Returns when all requests in flight have ended.
  func shutDown() async {
    service.shutDown()
    await running.value
  }
}
