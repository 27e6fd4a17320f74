internal import CPlatform
internal import Glibc
internal import SystemAdapters

/// Opens the agent's socket: one that nobody else can reach, and never in the place of one that lives.
enum Listening {
  enum Failure: Error {
    case unsafe(String)
    case alreadyServed
    case unavailable(String)
  }

  /// A waiting socket, handed over by the service manager or bound at `path`; `path` is nil in the first case.
  static func open(_ path: String) throws(Failure) -> (descriptor: Int32, bound: String?) {
    switch lanyard_listen_fds() {
    case 0: break
    case 1: return (3, nil)
    case let count where count < 0: throw .unsafe("What the service manager handed over is no listening unix socket.")
    default: throw .unsafe("The service manager handed over several sockets; the agent takes one.")
    }
    guard let slash = path.lastIndex(of: "/"), path.hasPrefix("/") else {
      throw .unsafe("The socket's path must be absolute.")
    }
    do throws(PrivateDirectory.Failure) {
      _ = try PrivateDirectory(path: slash == path.startIndex ? "/" : String(path[..<slash]))
    } catch {
      throw .unsafe("The socket's directory \(error.words).")
    }
    return (try bind(path), path)
  }

  private static func bind(_ path: String) throws(Failure) -> Int32 {
    var descriptor = lanyard_bind_unix(path)
    if descriptor == -EADDRINUSE {
      // A socket that somebody answers is never taken; a plain file never removed. The state's lock is held already,
      // so what is left here is from an agent that died.
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
        throw .unsafe(
          "Something that is not a socket of yours stands at the socket's path. Remove it, or give --socket.")
      }
      let probe = lanyard_connect_unix(path)
      guard probe == -ECONNREFUSED else {
        if probe >= 0 { close(probe) }
        throw .alreadyServed
      }
      guard unlink(path) == 0 else { throw .unavailable("The stale socket can't be removed.") }
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
  var words: String {
    switch self {
    case .cannotCreate(let error): "can't be made: \(String(cString: strerror(error)))"
    case .notADirectory: "is not a directory"
    case .symlink: "is a symbolic link, which somebody could turn elsewhere"
    case .foreignOwner: "belongs to another user"
    case .openToOthers: "is open to others; its mode must be 0700"
    }
  }
}
