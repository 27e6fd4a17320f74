internal import Glibc
internal import Threads

/// For a program that runs until a signal: it does not outlive its own file. Without the agent, which ends then too, it
/// would wait or retry without end.
package enum ProgramWatch {
  /// Once the program of this process was removed, and no upgrade put another in its place, the process gets SIGTERM.
  ///
  /// Call it once SIGTERM is blocked or handled, and once the process is confined. Where the file can't be watched, nothing is.
  package static func start() {
    _ = DetachedThread.start {
      guard let program = WatchedFile.programOfThisProcess() else { return }
      program.waitUntilGone()
      kill(getpid(), SIGTERM)
    }
  }
}
