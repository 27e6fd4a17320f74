internal import CPlatform
internal import Glibc

/// A thread that nobody joins, for what blocks on the machine.
enum DetachedThread {
  /// False if the machine gives no more threads; `body` is not run then.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 256 << 10)
    let context = Unmanaged.passRetained(Body(body))
    let failed = pthread_create(
      &thread, &attributes,
      { context in
        Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    pthread_attr_destroy(&attributes)
    if failed != 0 { context.release() }
    return failed == 0
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
