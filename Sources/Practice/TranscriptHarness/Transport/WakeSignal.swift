internal import CPlatform
internal import Glibc

/// Wakes the thread that plays the script, so that it checks its condition again.
final class WakeSignal: Sendable {
  let descriptor: Int32

  init() { descriptor = lanyard_eventfd() }
  deinit { close(descriptor) }

  func raise() { lanyard_eventfd_signal(descriptor) }
  func clear() { _ = lanyard_eventfd_drain(descriptor) }
}
