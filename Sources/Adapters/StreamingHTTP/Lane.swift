internal import AgentModel
internal import CCurl
internal import Glibc
internal import Threads

/// A place in which one request at a time runs, with the connection that the last one left. Only the thread that took
/// it from `LanePool` uses it.
final class Lane: @unchecked Sendable {
  let key: LaneKey
  let multi: UnsafeMutableRawPointer
  let wakeUp: WakeUp
  /// When its last request ended.
  var idleSince = MonotonicTime.now
  /// The socket of the connection, and its local port.
  private var socket: (descriptor: Int32, port: Int32)?
  /// The sockets that libcurl opened for the request that runs.
  private var opened: [Int32] = []
  /// The last response came by HTTP/2, where bytes that wait belong to a stream and can't be taken for a response.
  var isHTTP2 = false

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

  func begin() { opened = [] }
  func opened(_ socket: Int32) { opened.append(socket) }

  /// Notes a new connection by its local port.
  func connected(port: Int32) {
    isHTTP2 = false
    let found = opened.filter { ccurl_local_port($0) == port }
    socket = found.count == 1 ? (found[0], port) : nil
  }

  /// Whether the kept connection with this local port can take another request. What has arrived since the last response,
  /// libcurl would take for the response to this one.
  func isUsable(port: Int32, easy: UnsafeMutableRawPointer, isTLS: Bool) -> Bool {
    if isHTTP2 { return true }
    guard let socket, socket.port == port else { return false }
    return ccurl_is_quiet(easy, socket.descriptor, isTLS)
  }
}

/// Requests with the same key may use the same connection.
struct LaneKey: Hashable, Sendable {
  let origin: String
}

/// A moment of the monotonic clock, in milliseconds.
struct MonotonicTime: Comparable {
  var milliseconds: Int

  static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(milliseconds: time.tv_sec * 1_000 + time.tv_nsec / 1_000_000)
  }

  static func < (one: MonotonicTime, other: MonotonicTime) -> Bool { one.milliseconds < other.milliseconds }
  static func + (time: MonotonicTime, milliseconds: Int) -> MonotonicTime {
    MonotonicTime(milliseconds: time.milliseconds + milliseconds)
  }
}
