internal import Glibc

/// Messages for values of `errno`.
public enum SystemError {
  public static func message(_ number: Int32) -> String { String(cString: strerror(number)) }

  /// Why a program of the project can't be run: a sentence.
  ///
  /// `lanyard` is static and starts everywhere; the others have the dynamic linker of glibc as their interpreter. Where
  /// that is missing, `execve` fails with ENOENT for a file that is there.
  public static func whyNotRun(_ program: String, _ number: Int32) -> String {
    guard number == ENOENT, access(program, F_OK) == 0 else { return "\(program) can't be run: \(message(number))." }
    return "\(program) can't be run: it needs glibc, which is not here, or not in its usual place. Systems with musl, "
      + "as Alpine, are not supported yet."
  }
}
