internal import CPlatform
internal import FileRules
internal import Glibc
internal import SystemAdapters
internal import WatchedFiles

/// The agent's socket in a private directory. Never replaces a socket that a process serves.
struct Listening {
  let descriptor: Int32
  private let directory: String
  /// Nil for a socket of the service manager.
  private var bound: (path: String, identity: FileIdentity?)?

  enum Failure: Error {
    case unsafe(String)
    case alreadyServed
    case unavailable(String)
  }

  /// The listening socket from the service manager, or one bound at `path`.
  init(_ path: String) throws(Failure) {
    let slash = path.hasPrefix("/") ? path.lastIndex(of: "/") : nil
    directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ""
    switch lanyard_listen_fds() {
    case 0: break
    case 1:
      descriptor = 3
      return
    case let count where count < 0: throw .unsafe("The service manager did not hand over a listening unix socket.")
    default: throw .unsafe("The service manager handed over several sockets. The agent accepts one.")
    }
    guard !directory.isEmpty else { throw .unsafe("The socket's path must be absolute.") }
    do throws(PrivateDirectory.Failure) {
      _ = try PrivateDirectory(path: directory)
    } catch {
      throw .unsafe("The socket's directory \(error.message).")
    }
    descriptor = try Self.bind(path)
    bound = (path, FileIdentity(path: path))
  }

  /// Removes a socket that this process bound. Another agent's, which has its name since, stays.
  func removeName() {
    if let bound, FileIdentity(path: bound.path) == bound.identity { unlink(bound.path) }
  }

  /// Once the program is gone, no command of it starts an agent here. The lock of one that does, such as of another
  /// installation, stays.
  func removeStartLock() {
    let path = SocketPlace.startLock(in: directory)
    let lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard lock >= 0 else { return }
    if flock(lock, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    close(lock)
  }

  private static func bind(_ path: String) throws(Failure) -> Int32 {
    var descriptor = lanyard_bind_unix(path)
    if descriptor == -EADDRINUSE {
      // Replace only a socket of this user that refuses connections: an agent that died left it. This process holds the
      // state lock, so no other agent of this state can be starting.
      guard (try? FileRule.socket.check(path: path)) != nil else {
        throw .unsafe(
          "The socket's path is taken by a file that is not a socket of yours. Remove it, or give --socket.")
      }
      let probe = lanyard_connect_unix(path)
      guard probe == -ECONNREFUSED else {
        if probe >= 0 { close(probe) }
        throw .alreadyServed
      }
      guard unlink(path) == 0 else { throw .unavailable("The socket of an earlier agent can't be removed.") }
      descriptor = lanyard_bind_unix(path)
    }
    guard descriptor >= 0, listen(descriptor, 128) == 0 else {
      throw .unavailable(
        "The socket can't be opened: \(String(cString: strerror(descriptor < 0 ? -descriptor : errno))).")
    }
    return descriptor
  }
}

extension PrivateDirectory.Failure {
  var message: String {
    switch self {
    case .cannotCreate(let error): "can't be created: \(String(cString: strerror(error)))"
    case .notADirectory: "is not a directory"
    case .symlink: "is a symbolic link, which another program could redirect"
    case .foreignOwner: "belongs to another user"
    case .openToOthers: "is open to others; its mode must be 0700"
    }
  }
}
