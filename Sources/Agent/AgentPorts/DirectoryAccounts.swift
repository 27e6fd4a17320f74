/// Finds the account that a working directory selects: the nearest `.lanyard` file upward, if the person trusts it
/// (docs/protocol.md, Account selector).
public protocol DirectoryAccounts: Sendable {
  /// The account name in the file; nil if there is no file, or one that the person never trusted.
  ///
  /// - Parameter directory: an absolute path, or a `file:` URL of one that is not UTF-8.
  /// - Throws: `DirectoryAccountsFailure` if that can't be told: another account must not be taken instead.
  func account(for directory: String) async throws(DirectoryAccountsFailure) -> String?
}

/// What a directory selects can't be told.
public enum DirectoryAccountsFailure: Error, Sendable {
  /// Directories can't be searched now.
  case unavailable
  /// The nearest `.lanyard` file is not as the person trusted it, or can't be read.
  case unreadable
  /// Not an absolute path.
  case noDirectory
}

/// A platform where no directory selects an account.
public struct NoDirectoryAccounts: DirectoryAccounts {
  public init() {}
  public func account(for directory: String) -> String? { nil }
}
