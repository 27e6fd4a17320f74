internal import CPlatform
internal import Glibc

/// Wakes the thread that plays the script: something moved, look again.
final class Notice: Sendable {
  let descriptor: Int32

  init() { descriptor = lanyard_eventfd() }
  deinit { close(descriptor) }

  func give() { lanyard_eventfd_signal(descriptor) }
  func take() { _ = lanyard_eventfd_drain(descriptor) }
}
