import Foundation

/// The signals by which a person ends the demo.
enum EndingSignals {
  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, signal) }
    return set
  }

  /// No thread that is made after this takes them.
  static func block() {
    var set = set
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for the first one, on a thread of its own.
  static func onArrival(_ body: @escaping @Sendable (Int32) -> Never) {
    Thread.detachNewThread {
      var (set, signal) = (set, Int32(0))
      sigwait(&set, &signal)
      body(signal)
    }
  }
}
