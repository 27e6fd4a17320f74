internal import Glibc

/// Messages for values of `errno`.
public enum SystemError {
  public static func message(_ number: Int32) -> String { String(cString: strerror(number)) }
}
