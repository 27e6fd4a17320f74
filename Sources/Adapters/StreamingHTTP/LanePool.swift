internal import Synchronization
internal import Threads

/// The lanes that no request uses now.
final class LanePool: Sendable {
  private let idle = Mutex<[Lane]>([])
  private let maximumCount: Int
  private let longestIdleMilliseconds: Int

  init(maximumCount: Int, longestIdleSeconds: Int) {
    self.maximumCount = maximumCount
    longestIdleMilliseconds = longestIdleSeconds * 1_000
  }

  /// The lane with this key that was used last, else a new one. Nil without libcurl.
  func take(_ key: LaneKey) -> Lane? {
    let oldest = MonotonicTime.now + -longestIdleMilliseconds
    let (lane, closed) = idle.withLock { idle in
      let old = idle.filter { $0.idleSince < oldest }
      idle.removeAll { $0.idleSince < oldest }
      let index = idle.lastIndex { $0.key == key }
      return (index.map { idle.remove(at: $0) }, old)
    }
    // Outside of the lock: closing a TLS connection writes to it.
    withExtendedLifetime(closed) {}
    return lane ?? Lane(key)
  }

  func putBack(_ lane: Lane) {
    lane.idleSince = .now
    let closed = idle.withLock { idle in
      idle.append(lane)
      return idle.count > maximumCount ? idle.removeFirst() : nil
    }
    withExtendedLifetime(closed) {}
  }

  /// Closes all idle connections.
  func close() {
    let closed = idle.withLock { idle in
      defer { idle = [] }
      return idle
    }
    withExtendedLifetime(closed) {}
  }
}
