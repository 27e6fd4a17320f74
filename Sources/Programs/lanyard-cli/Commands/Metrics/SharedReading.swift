import CommandSupport
import MetricsExposition
import Synchronization
import Threads

/// Reads the figures on a thread of its own, for all clients that wait: an agent that does not answer costs its patience
/// once, and not once a client.
final class SharedReading: Sendable {
  private let page = Mutex<FigurePage?>(nil)
  private let isRead = WakeUp()

  /// Readable when `take` has a page.
  var descriptor: Int32 { isRead.descriptor }

  /// Starts a reading. False if the system has no thread left.
  func begin() -> Bool {
    DetachedThread.start { [self] in
      let read = FigureReader.page(interruption: nil).0
      page.withLock { $0 = read }
      isRead.signal()
    }
  }

  /// The page of the reading that ended.
  func take() -> FigurePage? {
    isRead.clear()
    return page.withLock { page in
      defer { page = nil }
      return page
    }
  }
}
