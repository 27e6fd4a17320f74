internal import CLanyardClient

/// Runs something on a thread of its own, outside of the tasks' threads.
enum IOThread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// False if no thread could be started.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let argument = Unmanaged.passRetained(Body(body))
    let failed = lanyard_client_thread(
      { argument in
        guard let argument else { return }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
      }, argument.toOpaque())
    if failed != 0 { argument.release() }
    return failed == 0
  }
}
