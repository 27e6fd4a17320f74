import Foundation

/// SIGINT, SIGTERM and SIGHUP: they end the demo.
enum EndingSignals {
  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, signal) }
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
      sigwait(&set, &signal)
      body(signal)
    }
  }
}
