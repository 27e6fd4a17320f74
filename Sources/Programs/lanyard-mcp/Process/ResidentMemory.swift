internal import CPlatform
internal import StreamingHTTP
internal import Synchronization

/// Gives back memory that only the start needed: a client keeps a bridge for each of its servers, and most of them idle.
final class ResidentMemory: Sendable {
  private let requests = Atomic(0)
  /// The first request opens libcurl, and loads what it depends on.
  private static let giving = [1, 8]

  /// A request has ended.
  func requestEnded() {
    guard Self.giving.contains(requests.add(1, ordering: .relaxed).newValue) else { return }
    giveBack()
  }

  /// Pages that equal their files come back from the page cache when they are needed.
  func giveBack() {
    lanyard_give_back_pages()
    HTTPClient.giveMemoryBack()
  }
}
