internal import AgentModel
internal import CCurl
internal import CurlTransfers
internal import Threads

/// A place in which one request at a time runs, with the connection that the last one left. Only the thread that took
/// it from `LanePool` uses it.
final class Lane: @unchecked Sendable {
  let key: LaneKey
  let multi: UnsafeMutableRawPointer
  let wakeUp: WakeUp
  /// When its last request ended.
  var idleSince = MonotonicTime.now
  let sockets = ConnectionSockets()

  /// Nil without libcurl or a descriptor.
  init?(_ key: LaneKey) {
    let wakeUp = WakeUp()
    guard wakeUp.descriptor >= 0, ccurl_open(), let multi = ccurl_multi_init() else { return nil }
    self.key = key
    self.multi = multi
    self.wakeUp = wakeUp
    _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 1)
  }

  deinit { ccurl_multi_cleanup(multi) }
}

/// Requests with the same key may use the same connection.
struct LaneKey: Hashable, Sendable {
  let origin: String
  /// A connection that stands was trusted under these.
  let trust: TrustSettings
}
