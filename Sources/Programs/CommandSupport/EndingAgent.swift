internal import CPlatform
internal import FileRules
internal import Glibc

/// An agent that serves no client any more, and holds the state until exchanges on their way have ended: its socket goes
/// first.
public enum EndingAgent {
  /// Between two looks at the lock that it is about to free.
  private static let pauseMicroseconds: UInt32 = 50_000

  /// Waits for its end, and tells a person of a long wait; false if it still holds the state when the time is over. Nil if
  /// there is none in this environment's state directory.
  public static func hasEnded(waiting milliseconds: Int32) -> Bool? {
    guard let state = AgentPaths.stateDirectory,
      let lock = try? FileRule.madeFile.open(StateHolder.lock(in: state))
    else { return nil }
    defer { close(lock) }
    guard holds(lock) else { return nil }
    let deadline = ReadableDescriptor.Deadline.after(milliseconds: milliseconds)
    var line = WaitingLine()
    while holds(lock) {
      guard deadline.left > 0 else { return false }
      line.show { nil }
      usleep(pauseMicroseconds)
    }
    return true
  }

  /// The note of an agent that was killed stays; its lock does not.
  private static func holds(_ lock: Int32) -> Bool {
    lanyard_file_is_locked(lock) && StateHolder(in: lock)?.isEnding == true
  }
}
