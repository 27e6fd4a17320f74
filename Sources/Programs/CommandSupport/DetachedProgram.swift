internal import CPlatform
internal import Glibc

/// A program that goes on by itself, without this one's terminal.
public enum DetachedProgram {
  /// False if it can't be started.
  public static func start(_ path: String, _ arguments: [String]) -> Bool {
    CStrings.with([path] + arguments) { words in
      lanyard_start_detached(path, words, UnsafePointer(environ), -1, -1) == 0
    }
  }
}
