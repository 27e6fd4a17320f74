internal import Glibc

/// The system's words for an `errno`.
public enum SystemError {
  public static func words(_ number: Int32) -> String { String(cString: strerror(number)) }
}
