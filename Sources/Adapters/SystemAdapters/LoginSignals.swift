internal import AgentModel
public import AgentPorts
internal import CPlatform
public import DBus
internal import Glibc
internal import Synchronization
internal import Threads

/// `SystemSignals` from logind: before the machine sleeps, and when the screen is locked.
///
/// One thread blocks on the system bus. If the bus or logind ends, the thread waits for it to return; on a machine
/// without them the log says so once, and the agent works on.
public final class LoginSignals: SystemSignals {
  private let bus: BusAddress?
  private let delaysSleep: Bool
  private let log: any AgentLog
  private let stopping: Int32
  private let isStarted = Atomic(false)
  /// The machine does not sleep while its descriptor is open.
  private let inhibitor = Mutex<Inhibitor>(Inhibitor())

  private struct Inhibitor {
    var descriptor: Int32 = -1
    /// logind has announced the sleep and waits for the descriptor to be closed.
    var isAwaited = false

    mutating func release() {
      if descriptor >= 0 { close(descriptor) }
      descriptor = -1
      isAwaited = false
    }
  }

  /// - Parameter delaysSleep: the machine waits for `readyToSleep`.
  public init(bus: BusAddress? = .system, delaysSleep: Bool, log: any AgentLog) {
    self.bus = bus
    self.delaysSleep = delaysSleep
    self.log = log
    stopping = lanyard_eventfd()
  }

  deinit {
    inhibitor.withLock { $0.release() }
    if stopping >= 0 { close(stopping) }
  }

  /// May be called once.
  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {
    guard stopping >= 0, !isStarted.exchange(true, ordering: .relaxed) else { return }
    let watch = Watch(owner: self, onSignal: onSignal)
    if !DetachedThread.start({ watch.run() }) {
      log.log(.warning, "no signals of logind", [(.reason, .word("thread"))])
    }
  }

  public func stop() { if stopping >= 0 { lanyard_eventfd_signal(stopping) } }

  public func readyToSleep() {
    inhibitor.withLock { if $0.isAwaited { $0.release() } }
  }

  /// The state of the thread.
  private final class Watch: @unchecked Sendable {
    private let owner: LoginSignals
    private let onSignal: @Sendable (SystemSignal) -> Void
    /// Sessions whose screen was locked at the last look.
    private var locked: Set<String> = []
    private var wasConnected = false
    private var isTold = false
    private var pause = Watch.shortest

    private static let shortest: Int32 = 1000
    private static let longest: Int32 = 300_000

    init(owner: LoginSignals, onSignal: @escaping @Sendable (SystemSignal) -> Void) {
      (self.owner, self.onSignal) = (owner, onSignal)
    }

    func run() {
      repeat {
        do throws(BusFailure) {
          try listen(to: LoginManager(owner.bus))
          return
        } catch {
          owner.inhibitor.withLock { $0.release() }
          tell(error)
        }
      } while !isStopped(waiting: pause)
    }

    /// Returns when the object is stopped.
    private func listen(to manager: LoginManager) throws(BusFailure) {
      begin(manager)
      var descriptors = [owner.stopping, manager.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      while true {
        while let news = try manager.next() { happened(news, manager) }
        _ = poll(&descriptors, nfds_t(descriptors.count), -1)
        if descriptors[0].revents != 0 { return }
      }
    }

    private func happened(_ news: LoginManager.News, _ manager: LoginManager) {
      switch news {
      case .began: begin(manager)
      case .sleeps:
        owner.inhibitor.withLock { $0.isAwaited = true }
        onSignal(.sleeps)
      case .wakes: delaySleep(manager)
      case .locks(let session): if manager.isOurs(session) { onSignal(.screenLocked) }
      case .screen(let session, isLocked: false): locked.remove(session)
      case .screen(let session, isLocked: true):
        if manager.isOurs(session), locked.insert(session).inserted { onSignal(.screenLocked) }
      }
    }

    /// A new connection or a new logind: inhibitors of the old one are gone, and its signals meanwhile were missed.
    private func begin(_ manager: LoginManager) {
      let sessions: [String]
      do throws(BusFailure) { sessions = try manager.sessions() } catch { return tell(error) }
      delaySleep(manager)
      pause = Self.shortest
      isTold = false
      let now = Set(sessions.filter(manager.isLocked))
      let hasNews = wasConnected && !now.subtracting(locked).isEmpty
      (locked, wasConnected) = (now, true)
      if hasNews { onSignal(.screenLocked) }
    }

    private func delaySleep(_ manager: LoginManager) {
      guard owner.delaysSleep else { return }
      do throws(BusFailure) {
        let descriptor = try manager.delaySleep()
        owner.inhibitor.withLock { inhibitor in
          inhibitor.release()
          inhibitor.descriptor = descriptor
        }
      } catch { tell(error) }
    }

    /// Logs the failure once, until logind is back.
    private func tell(_ failure: BusFailure) {
      guard !isTold else { return }
      isTold = true
      owner.log.log(.notice, "no signals of logind", [(.reason, .name(failure.word))])
    }

    private func isStopped(waiting milliseconds: Int32) -> Bool {
      pause = min(pause * 2, Self.longest)
      var descriptor = pollfd(fd: owner.stopping, events: Int16(POLLIN), revents: 0)
      return poll(&descriptor, 1, milliseconds) > 0
    }
  }
}

extension BusFailure {
  fileprivate var word: String {
    switch self {
    case .noLibrary: "noLibrary"
    case .unreachable: "unreachable"
    case .timedOut: "timedOut"
    case .refused: hasNoOwner ? "noOwner" : "refused"
    case .malformed: "malformed"
    }
  }
}

/// Several sources of signals as one.
public struct JoinedSignals: SystemSignals {
  private let all: [any SystemSignals]

  public init(_ all: [any SystemSignals]) { self.all = all }

  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) { for one in all { one.start(onSignal) } }
  public func stop() { for one in all { one.stop() } }
  public func readyToSleep() { for one in all { one.readyToSleep() } }
  public func networkIsMissed() { for one in all { one.networkIsMissed() } }
}
