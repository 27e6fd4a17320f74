internal import CPlatform
internal import Glibc

/// Wakes a thread that waits for descriptors.
public final class WakeUp: Sendable {
  /// Readable after `signal`, until `clear`. Negative if the process had no descriptor left.
  public let descriptor = lanyard_eventfd()

  public init() {}

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// From any thread.
  public func signal() { lanyard_eventfd_signal(descriptor) }

  public func clear() { _ = lanyard_eventfd_drain(descriptor) }
}
