package import AgentModel
public import AgentPorts
internal import CPlatform
internal import Glibc
internal import Synchronization
internal import Threads
internal import WatchedFiles

/// `SystemSignals` from the kernel: netlink for the network, and for the clock a timer that the kernel cancels when the
/// clock is set. The files of the program and of the socket are watched by inotify(7).
///
/// One thread blocks on all of them, and wakes only for a message of the kernel. If a sandbox refuses one of them, only the
/// others are used, and the log says so once.
public final class KernelSignals: SystemSignals {
  private let log: any AgentLog
  private let stopping: Int32
  private let isStarted = Atomic(false)
  private let watchesProgram: Bool
  private let socket: String?

  /// - Parameters:
  ///   - watchesProgram: `programRemoved` is reported.
  ///   - socket: The path of a socket that is there at the start: `socketRemoved` is reported.
  public init(log: any AgentLog, watchesProgram: Bool = false, socket: String? = nil) {
    self.log = log
    self.watchesProgram = watchesProgram
    self.socket = socket
    stopping = lanyard_eventfd()
  }

  deinit { if stopping >= 0 { close(stopping) } }

  /// May be called once.
  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {
    guard stopping >= 0, !isStarted.exchange(true, ordering: .relaxed) else { return }
    let network = available(lanyard_network_watch(), "network")
    let clock = available(lanyard_wall_watch(), "clock")
    var files: [(WatchedFile, SystemSignal)] = []
    if watchesProgram { files += available(.programOfThisProcess(), "program").map { [($0, .programRemoved)] } ?? [] }
    if let socket { files += available(.socket(path: socket), "socket").map { [($0, .socketRemoved)] } ?? [] }
    guard network != nil || clock != nil || !files.isEmpty else { return }
    let watch = Watch(network: network, clock: clock, files: files, owner: self, onSignal: onSignal)
    if !DetachedThread.start({ watch.run() }) {
      log.log(.warning, "no signals of the system", [(.reason, .word("thread"))])
    }
  }

  public func stop() { if stopping >= 0 { lanyard_eventfd_signal(stopping) } }

  private func available(_ descriptor: Int32, _ what: StaticString) -> Int32? {
    if descriptor >= 0 { return descriptor }
    log.log(.notice, "no signals of the system", [(.reason, .word(what)), (.code, .number(Int64(-descriptor)))])
    return nil
  }

  private func available(_ file: WatchedFile?, _ what: StaticString) -> WatchedFile? {
    if file == nil { log.log(.notice, "no signals of the system", [(.reason, .word(what))]) }
    return file
  }

  /// The state of the thread.
  private final class Watch: @unchecked Sendable {
    let network: Int32?
    let clock: Int32?
    let files: [(file: WatchedFile, whenGone: SystemSignal)]
    let owner: KernelSignals
    let onSignal: @Sendable (SystemSignal) -> Void
    private var news: NetworkNews?
    private var bursts: [SystemSignal: Burst] = [:]

    init(
      network: Int32?, clock: Int32?, files: [(WatchedFile, SystemSignal)], owner: KernelSignals,
      onSignal: @escaping @Sendable (SystemSignal) -> Void
    ) {
      (self.network, self.clock, self.owner, self.onSignal) = (network, clock, owner, onSignal)
      self.files = files.map { (file: $0, whenGone: $1) }
    }

    deinit {
      for descriptor in [network, clock].compactMap({ $0 }) { close(descriptor) }
    }

    func run() {
      news = network.map(NetworkNews.init)
      // poll(2) ignores a negative descriptor
      var descriptors = ([owner.stopping, network ?? -1, clock ?? -1] + files.map { _ in -1 }).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      while true {
        for (index, entry) in files.enumerated() { descriptors[3 + index].fd = entry.file.descriptor }
        _ = poll(&descriptors, nfds_t(descriptors.count), tellWhatIsDue())
        if descriptors[0].revents != 0 { return }
        if descriptors[1].revents != 0, news?.read() == true { happened(.networkChanged) }
        if descriptors[2].revents != 0, let clock, lanyard_wall_watch_drain(clock) != 0 { happened(.clockChanged) }
        for (index, entry) in files.enumerated() where descriptors[3 + index].revents != 0 || isDue(entry.file) {
          if entry.file.look(at: now) { onSignal(entry.whenGone) }
        }
      }
    }

    private func isDue(_ file: WatchedFile) -> Bool { file.deadline.map { now >= $0 } ?? false }

    private func happened(_ signal: SystemSignal) {
      bursts[signal, default: Burst(at: now)].goesOn(at: now)
    }

    /// Reports due signals. Returns the milliseconds that `poll` waits for the rest of a burst, or for a file that may come
    /// back; -1 without both.
    private func tellWhatIsDue() -> Int32 {
      let now = now
      for (signal, burst) in bursts where burst.isOver(at: now) {
        bursts[signal] = nil
        onSignal(signal)
      }
      let due = bursts.values.map(\.end) + files.compactMap(\.file.deadline)
      return due.map { Int32(max(0, ($0 - now).count)) }.min() ?? -1
    }

    private var now: BootInstant { BootInstant(milliseconds: lanyard_boot_milliseconds()) }
  }
}

/// Changes that come together: reported once they pause, or after `longest`.
package struct Burst {
  /// Cable, address and route change within this of each other.
  static let quiet = Milliseconds(500)
  /// Bound of the delay while the network keeps changing.
  static let longest = Milliseconds(2_000)

  private let latest: BootInstant
  private(set) var end: BootInstant

  package init(at now: BootInstant) {
    latest = now + Self.longest
    end = now + Self.quiet
  }

  package mutating func goesOn(at now: BootInstant) { end = min(now + Self.quiet, latest) }
  package func isOver(at now: BootInstant) -> Bool { now >= end }
}
