/// Finds the account that a working directory selects: the nearest `.lanyard` file upward (docs/protocol.md, Account
/// selector).
public protocol DirectoryAccounts: Sendable {
  /// The account name in the file; nil if there is no file, or its owner or mode makes it untrusted.
  ///
  /// - Throws: `DirectoryAccountsFailure` if that can't be told now: another account must not be taken instead.
  func account(for directory: String) async throws(DirectoryAccountsFailure) -> String?
}

/// Directories can't be searched now.
public struct DirectoryAccountsFailure: Error, Sendable { public init() {} }

/// A platform where no directory selects an account.
public struct NoDirectoryAccounts: DirectoryAccounts {
  public init() {}
  public func account(for directory: String) -> String? { nil }
}
