internal import CPlatform
internal import CommandSupport

/// When the page ends because no person uses it. One timer of the kernel, which nothing wakes for meanwhile; a suspended
/// machine's time counts.
final class IdleEnd: Sendable {
  /// Readable once the time is over.
  let descriptor: Int32
  private let milliseconds: Int64

  init(seconds: Int64) throws(CommandFailure) {
    descriptor = lanyard_boot_timer()
    guard descriptor >= 0 else {
      throw CommandFailure(
        .other, name: "system", "No timer could be made: \(SystemError.message(-descriptor)). The page was not started."
      )
    }
    milliseconds = seconds * 1000
    begin()
  }

  /// The time begins anew: a person opened a page or sent a form.
  func begin() { lanyard_boot_timer_set(descriptor, lanyard_boot_milliseconds() + milliseconds) }
}
