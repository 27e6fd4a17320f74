internal import AgentPorts
internal import Synchronization

/// `.lanyard` files, by directory.
final class Directories: DirectoryAccounts {
  private let names = Mutex<[String: String]>([:])

  func set(_ directory: String, _ account: String) { names.withLock { $0[directory] = account } }

  /// The nearest file in the directory or its parents.
  func account(for directory: String) -> String? {
    names.withLock { names in
      names.filter { directory == $0.key || directory.hasPrefix($0.key + "/") }.max { $0.key.count < $1.key.count }?
        .value
    }
  }
}
