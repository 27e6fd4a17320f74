package import AgentModel
public import AgentPorts
internal import CPlatform
internal import Glibc
internal import Synchronization
internal import Threads

/// `SystemSignals` from the kernel: netlink for the network, and for the clock a timer that the kernel cancels when the
/// clock is set. The file of the program is watched by inotify(7).
///
/// One thread blocks on all of them, and wakes only for a message of the kernel. If a sandbox refuses one of them, only the
/// others are used, and the log says so once.
public final class KernelSignals: SystemSignals {
  private let log: any AgentLog
  private let stopping: Int32
  private let isStarted = Atomic(false)
  private let watchesProgram: Bool

  /// - Parameter watchesProgram: `programRemoved` is reported.
  public init(log: any AgentLog, watchesProgram: Bool = false) {
    self.log = log
    self.watchesProgram = watchesProgram
    stopping = lanyard_eventfd()
  }

  deinit { if stopping >= 0 { close(stopping) } }

  /// May be called once.
  public func start(_ onSignal: @escaping @Sendable (SystemSignal) -> Void) {
    guard stopping >= 0, !isStarted.exchange(true, ordering: .relaxed) else { return }
    let network = available(lanyard_network_watch(), "network")
    let clock = available(lanyard_wall_watch(), "clock")
    let program = watchesProgram ? ProgramFile.ofThisProcess() : nil
    if watchesProgram, program == nil {
      log.log(.notice, "no signals of the system", [(.reason, .word("program"))])
    }
    guard network != nil || clock != nil || program != nil else { return }
    let watch = Watch(network: network, clock: clock, program: program, owner: self, onSignal: onSignal)
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

  /// The state of the thread.
  private final class Watch: @unchecked Sendable {
    let network: Int32?
    let clock: Int32?
    let program: ProgramFile?
    let owner: KernelSignals
    let onSignal: @Sendable (SystemSignal) -> Void
    private var news: NetworkNews?
    private var bursts: [SystemSignal: Burst] = [:]

    init(
      network: Int32?, clock: Int32?, program: ProgramFile?, owner: KernelSignals,
      onSignal: @escaping @Sendable (SystemSignal) -> Void
    ) {
      (self.network, self.clock, self.program, self.owner, self.onSignal) = (network, clock, program, owner, onSignal)
    }

    deinit {
      for descriptor in [network, clock].compactMap({ $0 }) { close(descriptor) }
    }

    func run() {
      news = network.map(NetworkNews.init)
      // poll(2) ignores a negative descriptor
      var descriptors = [owner.stopping, network ?? -1, clock ?? -1, -1].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      while true {
        descriptors[3].fd = program?.descriptor ?? -1
        _ = poll(&descriptors, nfds_t(descriptors.count), tellWhatIsDue())
        if descriptors[0].revents != 0 { return }
        if descriptors[1].revents != 0, news?.read() == true { happened(.networkChanged) }
        if descriptors[2].revents != 0, let clock, lanyard_wall_watch_drain(clock) != 0 { happened(.clockChanged) }
        lookAtProgram(hasChanged: descriptors[3].revents != 0)
      }
    }

    private func lookAtProgram(hasChanged: Bool) {
      guard let program, hasChanged || program.deadline.map({ now >= $0 }) ?? false else { return }
      if program.look(at: now) { onSignal(.programRemoved) }
    }

    private func happened(_ signal: SystemSignal) {
      bursts[signal, default: Burst(at: now)].goesOn(at: now)
    }

    /// Reports due signals. Returns the milliseconds that `poll` waits for the rest of a burst, or for a program that is being
    /// upgraded; -1 without both.
    private func tellWhatIsDue() -> Int32 {
      let now = now
      for (signal, burst) in bursts where burst.isOver(at: now) {
        bursts[signal] = nil
        onSignal(signal)
      }
      let due = bursts.values.map(\.end) + (program?.deadline.map { [$0] } ?? [])
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
