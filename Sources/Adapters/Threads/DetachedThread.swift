internal import CPlatform

/// The only way to start a thread: one stack size, no signals, and a stack that is wiped at the end.
///
/// Libc keeps the stack of an ended thread for the next one, and secrets pass through the stack. One `pthread_create`
/// (`lanyard_start_thread`) means that no thread can skip the wiping.
public enum DetachedThread {
  /// Runs `body` on a new thread. False if the system has no thread left; `body` does not run then.
  public static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = Unmanaged.passRetained(Work(body))
    // The new thread releases `Work` before `lanyard_start_thread` wipes its stack.
    let result = lanyard_start_thread({ Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().body() }, work.toOpaque())
    if result != 0 { work.release() }
    return result == 0
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// The depth of the calls whose stack is wiped.
public enum StackDepth: Sendable {
  /// The agent's own functions.
  case agent
  /// libcurl, TLS and other libraries.
  case libraries
}

/// Clears the vector registers of the current thread, before it waits: the last bytes that it copied may be in them.
public func clearRegisters() { lanyard_clear_registers() }

/// Wipes what calls that have returned left in the vector registers and on the current thread's stack, for a thread that goes on.
public func wipeStack(_ depth: StackDepth) {
  switch depth {
  case .agent: lanyard_wipe_stack(LANYARD_STACK_OF_AGENT)
  case .libraries: lanyard_wipe_stack(LANYARD_STACK_OF_LIBRARIES)
  }
}
