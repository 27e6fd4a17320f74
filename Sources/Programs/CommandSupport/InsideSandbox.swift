internal import Glibc

/// Whether this program runs in a `lanyard sandbox`.
public enum InsideSandbox {
  /// Where the command of a sandbox sees the program that entered it. Elsewhere only root could put something there.
  public static let entry = "/run/lanyard/enter"

  public static var isHere: Bool { access(entry, F_OK) == 0 }
}
