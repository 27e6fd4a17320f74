import Foundation

/// SIGINT, SIGTERM and SIGHUP: they end the demo.
enum EndingSignals {
  /// Asks the waiting thread whether a signal has arrived. Pending signals are taken by their number, so this one is taken
  /// after the others.
  private static let question = __libc_current_sigrtmin()
  private static let answered = DispatchSemaphore(value: 0)

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP, question] { sigaddset(&set, signal) }
    return set
  }

  /// Blocks the signals in this thread and in all threads that start later.
  static func block() {
    var set = set
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for the first signal on a thread of its own.
  static func onArrival(_ body: @escaping @Sendable (Int32) -> Never) {
    Thread.detachNewThread {
      var (set, signal) = (set, Int32(0))
      while true {
        sigwait(&set, &signal)
        guard signal == question else { body(signal) }
        answered.signal()
      }
    }
  }

  /// Returns if no signal has arrived; otherwise the process ends here.
  ///
  /// A terminal sends a signal to the demo's programs too, and the end of one of them can be seen before the waiting thread
  /// runs.
  static func passArrived() {
    kill(getpid(), question)
    answered.wait()
  }
}
