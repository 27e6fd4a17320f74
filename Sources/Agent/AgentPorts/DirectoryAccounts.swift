/// Which account a working directory asks for: the nearest `.lanyard` file upward (API.md, account.resolve).
public protocol DirectoryAccounts: Sendable {
  /// The account's name as the file gives it; nil if there is no such file, or none that can be trusted.
  func account(for directory: String) -> String?
}

/// No directory asks for anything.
public struct NoDirectoryAccounts: DirectoryAccounts {
  public init() {}
  public func account(for directory: String) -> String? { nil }
}
