internal import LoopbackHTTP
internal import Threads

/// The stream of one open page (`EventSource`): a message each time that the page is to be fetched again.
enum LiveStream {
  /// At most one message in this time.
  private static let pauseMilliseconds = 200
  /// How soon a browser looks again for a server that is gone.
  private static let retry = Array("retry: 2000\n\n".utf8)
  private static let changed = Array("data: changed\n\n".utf8)

  /// Runs until the browser closes the page, or the program ends.
  static func run(_ stream: borrowing HTTPStream, _ watcher: LiveFeed.Watcher) {
    guard stream.send(retry) else { return }
    // The page is there, and what follows is waiting.
    ResidentMemory.giveBack()
    while stream.wait(for: watcher.news.descriptor) == .ready {
      watcher.news.clear()
      guard stream.send(changed), stream.wait(for: -1, milliseconds: pauseMilliseconds) == .timedOut else { return }
    }
  }
}
