import CConfinement
import CommandSupport
import Glibc

extension Listener {
  /// The port of the proxy in a sandbox, where nothing else has one.
  static let sandboxPort: UInt16 = 3128

  /// Takes the listening socket that a sandbox hands over once its command is about to start, and tells the sandbox that it is
  /// served. Only programs of that sandbox reach it.
  ///
  /// - Throws: if the sandbox ended before.
  static func handedOver(_ channel: Int32) throws(CommandFailure) -> Listener {
    defer { close(channel) }
    var (byte, passed): (UInt8, Int32) = (0, -1)
    guard lanyard_broker_receive(channel, &byte, 1, &passed) == 1, passed >= 0 else {
      throw CommandFailure(.other, name: "system", "The sandbox ended before its command began.")
    }
    _ = send(channel, &byte, 1, Int32(MSG_NOSIGNAL))
    return Listener(passed, .sandbox)
  }
}
