import Glibc

/// The body of a response that is sent piece by piece, while its connection stays open.
public struct HTTPStream: ~Copyable {
  let number: Int32
  let stop: StopSignal

  /// Why `wait` returned.
  public enum Wakeup: Sendable { case ready, timedOut, ended }

  /// Sends bytes. False if the peer is gone, did not read in time, or the listener stops.
  public func send(_ bytes: [UInt8]) -> Bool { Connection.send(bytes, to: number, stop: stop) }

  /// Blocks until `descriptor` can be read, without waking up in between. `ended` if the peer closed the connection or sent
  /// something more, or if the listener stops.
  ///
  /// - Parameters:
  ///   - descriptor: -1 waits for the time alone.
  ///   - milliseconds: -1 waits without a limit.
  public func wait(for descriptor: Int32, milliseconds: Int = -1) -> Wakeup {
    let watched = descriptor < 0 ? [number] : [number, descriptor]
    switch stop.wait(for: watched, events: POLLIN, milliseconds: milliseconds) {
    case .stopped: return .ended
    case .timedOut: return .timedOut
    case .ready: break
    }
    var byte: UInt8 = 0
    let count = recv(number, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? .ready : .ended
  }
}
