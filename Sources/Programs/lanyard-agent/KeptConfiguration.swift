internal import AgentCore
internal import FileRules
internal import Glibc
internal import KeyProviders

/// The administrator's configuration file as it was good last: a copy in the state directory. It counts as long as the
/// file itself is there and can't be used, so that a mistake in it takes nothing away that is enforced.
struct KeptConfiguration {
  let path: String

  init(stateDirectory: String) { path = stateDirectory + "/administrator.json" }

  /// Nil if there is none, or it is not a plain file of this user alone.
  func read() -> AdministratorConfiguration? {
    guard let bytes = bytes() else { return nil }
    return try? AdministratorConfiguration(parsing: bytes)
  }

  /// Keeps what the file says now; nil, for a file that is gone, removes the copy. Best effort: the next start tries again.
  func keep(_ content: [UInt8]?) {
    guard let content else {
      unlink(path)
      return
    }
    guard bytes() != content else { return }
    content.withUnsafeBytes { try? writeDurably($0, to: path, replacing: true) }
  }

  private func bytes() -> [UInt8]? {
    try? FileRule.ownFile.contents(of: path, atMost: AgentConfiguration.maximumBytes)
  }
}
