import CPlatform
import CommandSupport
import FileRules
import Glibc

/// The unix socket at which figures are served.
struct FigureSocket {
  let path: String
  /// Nil: 0600, or with a group 0660.
  let mode: FileMode?
  let group: String?

  private static let backlog: Int32 = 64

  /// A socket that listens, for this user alone until its group and mode are set. One that a process left behind is
  /// replaced.
  func open() throws(CommandFailure) -> Int32 {
    var id: gid_t?
    if let group {
      guard let found = Self.id(of: group) else { throw .usage("There is no group `\(Text.shown(group))`.") }
      id = found
    }
    var descriptor = lanyard_bind_unix(path)
    if descriptor == -EADDRINUSE {
      try removeLeft()
      descriptor = lanyard_bind_unix(path)
    }
    guard descriptor >= 0 else { throw failure(-descriptor) }
    let bits = mode?.bits ?? (group == nil ? 0o600 : 0o660)
    guard id.map({ chown(path, uid_t.max, $0) == 0 }) ?? true, chmod(path, bits) == 0,
      listen(descriptor, Self.backlog) == 0
    else {
      let error = errno
      Glibc.close(descriptor)
      unlink(path)
      throw failure(error)
    }
    return descriptor
  }

  /// Removes the socket's file, unless another process has put its own there.
  func close(_ descriptor: Int32, madeAs own: Identity?) {
    Glibc.close(descriptor)
    if let own, own == Identity(path) { unlink(path) }
  }

  /// Names a file.
  struct Identity: Equatable {
    var device: dev_t
    var inode: ino_t

    init?(_ path: String) {
      var information = stat()
      guard lstat(path, &information) == 0 else { return nil }
      (device, inode) = (information.st_dev, information.st_ino)
    }
  }

  /// Only a socket of this user at which no process listens.
  private func removeLeft() throws(CommandFailure) {
    guard (try? FileRule.socket.check(path: path)) != nil else {
      throw .usage(
        "\(Text.shown(path)) exists already, and is not a socket of yours. It was not changed.",
        hints: ["Give another path."])
    }
    let connection = lanyard_connect_unix(path)
    if connection >= 0 { Glibc.close(connection) }
    guard connection == -ECONNREFUSED else {
      throw CommandFailure(
        .other, name: "inUse", "Another process listens at \(Text.shown(path)).",
        hints: ["End it, or give another path."])
    }
    guard unlink(path) == 0 || errno == ENOENT else { throw failure(errno) }
  }

  private static func id(of group: String) -> gid_t? {
    if let number = gid_t(group) { return number }
    return getgrnam(group)?.pointee.gr_gid
  }

  private func failure(_ error: Int32) -> CommandFailure {
    CommandFailure(
      .other, name: "system", "The socket \(Text.shown(path)) can't be used: \(SystemError.message(error)).")
  }
}
