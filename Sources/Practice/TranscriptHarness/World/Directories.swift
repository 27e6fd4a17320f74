internal import AgentPorts
internal import Synchronization

/// `.lanyard` files that the person trusts, by directory. One that names `unreadable` can't be read.
final class Directories: DirectoryAccounts {
  private let names = Mutex<[String: String]>([:])

  func set(_ directory: String, _ account: String) { names.withLock { $0[directory] = account } }

  /// The nearest file in the directory or its parents.
  func account(for directory: String) throws(DirectoryAccountsFailure) -> String? {
    let name = names.withLock { names in
      names.filter { directory == $0.key || directory.hasPrefix($0.key + "/") }.max { $0.key.count < $1.key.count }?
        .value
    }
    if name == "unreadable" { throw .unreadable }
    return name
  }
}
