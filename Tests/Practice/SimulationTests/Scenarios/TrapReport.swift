import Glibc
import Synchronization

/// Prints the running seeds when the process traps: a failed precondition ends it before an expectation prints one.
///
/// A signal handler may not allocate, so each seed's line is written beforehand.
enum TrapReport {
  private static let places = 4
  private static let longest = 256
  private nonisolated(unsafe) static let lines = UnsafeMutablePointer<CChar>.allocate(capacity: places * longest)
  /// The handlers of before, the runtime's backtrace among them: they go on with the signal.
  private nonisolated(unsafe) static var previous: [sigaction] = []
  private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS]
  private static let taken = Mutex<Set<Int>>([])

  private static let installed: Void = {
    lines.initialize(repeating: 0, count: places * longest)
    for number in signals {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { number in
        for place in 0..<TrapReport.places {
          let line = TrapReport.lines + place * TrapReport.longest
          if line.pointee != 0 { write(STDERR_FILENO, line, strlen(line)) }
        }
        var before = TrapReport.previous[TrapReport.signals.firstIndex(of: number) ?? 0]
        sigaction(number, &before, nil)
        // On return the instruction traps again, and `abort` goes on.
      }
      var before = sigaction()
      sigaction(number, &action, &before)
      previous.append(before)
    }
  }()

  /// Nil if as many worlds run already as there are places.
  static func begin(_ seed: UInt64) -> Int? {
    _ = installed
    let place = taken.withLock { taken in
      let free = (0..<places).first { !taken.contains($0) }
      if let free { taken.insert(free) }
      return free
    }
    guard let place else { return nil }
    let text = Array("\nsimulation: the process trapped while seed \(seed) ran: \(Seeds.replay(seed))\n".utf8CString)
    let line = lines + place * longest
    for index in 0..<min(text.count, longest) { line[index] = text[index] }
    line[longest - 1] = 0
    return place
  }

  static func end(_ place: Int?) {
    guard let place else { return }
    lines[place * longest] = 0
    taken.withLock { _ = $0.remove(place) }
  }
}
