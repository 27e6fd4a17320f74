package import Glibc

/// What must hold of a file before a program relies on it: its kind, its owners, and what others may not do with it. All
/// rules of the programs stand here by name, and what was opened is what is checked.
package struct FileRule: Sendable {
  package enum Kind: Sendable {
    case plainFile, directory, link, socket
    /// A plain file, or something that has no mode worth checking: a pipe, an inherited descriptor.
    case plainFileOrStream
  }

  package let kind: Kind
  /// Nil: anyone.
  package let owners: Set<uid_t>?
  /// Bits of the mode that must not be set.
  package let refused: mode_t
  /// Bits that must not be set in a file of this user, either.
  private let refusedOfUser: mode_t

  private init(_ kind: Kind, owners: Set<uid_t>?, refusing bits: mode_t, ofUser: mode_t = 0) {
    (self.kind, self.owners, refused, refusedOfUser) = (kind, owners, bits, ofUser)
  }

  private static var user: Set<uid_t> { [geteuid()] }
  private static var userOrRoot: Set<uid_t> { [geteuid(), 0] }

  // MARK: of this user alone

  /// A file that these programs made: mode 0600 or less.
  package static var madeFile: FileRule { FileRule(.plainFile, owners: user, refusing: 0o7177) }
  /// A file that others can neither read nor write.
  package static var privateFile: FileRule { FileRule(.plainFile, owners: user, refusing: 0o077) }
  /// As `privateFile`, or a stream.
  package static var grant: FileRule { FileRule(.plainFileOrStream, owners: user, refusing: 0o077) }
  /// A passphrase: others can't read it, whoever's it is.
  package static var passphrase: FileRule { FileRule(.plainFileOrStream, owners: nil, refusing: 0o077) }
  /// A directory that others can't enter.
  package static var privateDirectory: FileRule { FileRule(.directory, owners: user, refusing: 0o077) }
  /// A directory of this user, whatever others may do there.
  package static var ownDirectory: FileRule { FileRule(.directory, owners: user, refusing: 0) }
  /// A socket of this user.
  package static var socket: FileRule { FileRule(.socket, owners: user, refusing: 0) }
  /// The service manager's credential, readable by root's group at most.
  package static var credential: FileRule { FileRule(.plainFile, owners: userOrRoot, refusing: 0o7137) }

  /// A file whose mode its opener mends.
  package static var anyOwnFile: FileRule { FileRule(.plainFile, owners: user, refusing: 0) }

  // MARK: written by no other user

  /// A choice of this user.
  package static var ownFile: FileRule { file(of: user) }
  /// A choice of this user or of the administrator.
  package static var trustedFile: FileRule { file(of: userOrRoot) }
  /// Header fields with a credential: of this user alone, or from root for all.
  package static var headerFile: FileRule { FileRule(.plainFile, owners: userOrRoot, refusing: 0o022, ofUser: 0o044) }
  /// A `.lanyard` file: a group that shares a directory may write it, since it only proposes an account.
  package static var dotLanyard: FileRule { FileRule(.plainFile, owners: userOrRoot, refusing: 0o002) }

  /// A file that only these users can have written.
  package static func file(of owners: Set<uid_t>) -> FileRule { FileRule(.plainFile, owners: owners, refusing: 0o022) }
  /// A directory in which only these users can have put a file.
  package static func directory(of owners: Set<uid_t>) -> FileRule {
    FileRule(.directory, owners: owners, refusing: 0o022)
  }
  /// A link that this user or the administrator has set.
  package static var trustedLink: FileRule { FileRule(.link, owners: userOrRoot, refusing: 0) }

  // MARK: of another program

  /// The store of another program, which any user may own, read or write. The command that reads it warns of what
  /// `ownFile` and `otherProgramsSecrets` refuse.
  package static var otherProgramsFile: FileRule { FileRule(.plainFile, owners: nil, refusing: 0) }
  /// Such a store of this user, with secrets that are not encrypted.
  package static var otherProgramsSecrets: FileRule { FileRule(.plainFile, owners: user, refusing: 0o044) }

  // MARK: checking

  /// The status of what is open.
  @discardableResult
  package func check(_ descriptor: Int32) throws(FileFault) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
    try check(status)
    return status
  }

  /// The status of what stands at a path, where nothing is opened: a link is not followed.
  @discardableResult
  package func check(path: String) throws(FileFault) -> stat {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw .system(errno) }
    try check(status)
    return status
  }

  /// The status of what was opened before.
  package func check(_ status: stat) throws(FileFault) {
    let type = status.st_mode & S_IFMT
    switch kind {
    case .plainFileOrStream where type != S_IFREG: return
    case .plainFileOrStream, .plainFile: if type != S_IFREG { throw type == S_IFLNK ? .link : .otherKind }
    case .directory: if type != S_IFDIR { throw type == S_IFLNK ? .link : .otherKind }
    case .link: if type != S_IFLNK { throw .otherKind }
    case .socket: if type != S_IFSOCK { throw .otherKind }
    }
    if let owners, !owners.contains(status.st_uid) { throw .foreignOwner(status.st_uid) }
    let bits = status.st_uid == geteuid() ? refused | refusedOfUser : refused
    guard status.st_mode & bits == 0 else { throw .openToOthers(mode: status.st_mode & 0o7777) }
  }

  /// Opens a file and checks it. A link is not followed, and a FIFO can't block.
  ///
  /// - Parameter directory: where a relative `path` begins.
  package func open(
    _ path: String, _ flags: Int32 = O_RDONLY, at directory: Int32 = AT_FDCWD, followingLinks: Bool = false
  ) throws(FileFault) -> Int32 {
    var flags = flags | O_CLOEXEC | O_NOCTTY
    if kind != .plainFileOrStream { flags |= O_NONBLOCK }
    if !followingLinks { flags |= O_NOFOLLOW }
    let descriptor = openat(directory, path, flags)
    guard descriptor >= 0 else { throw errno == ELOOP && !followingLinks ? .link : .system(errno) }
    do throws(FileFault) {
      try check(descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The content of a file that keeps the rule.
  package func contents(
    of path: String, at directory: Int32 = AT_FDCWD, followingLinks: Bool = false, atMost most: Int
  ) throws(FileFault) -> [UInt8] {
    let descriptor = try open(path, at: directory, followingLinks: followingLinks)
    defer { close(descriptor) }
    var error: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: most + 1) { buffer, count in
      while count < buffer.count {
        let more = read(descriptor, buffer.baseAddress! + count, buffer.count - count)
        if more < 0, errno == EINTR { continue }
        if more < 0 { error = errno }
        if more <= 0 { break }
        count += more
      }
    }
    guard error == 0 else { throw .system(error) }
    guard bytes.count <= most else { throw .tooLarge }
    return bytes
  }
}

/// Why a program does not rely on a file.
package enum FileFault: Error, Hashable {
  /// It can't be opened or read; `ENOENT` if there is none.
  case system(Int32)
  case link
  /// Not a plain file, or not a directory, as the rule wants.
  case otherKind
  case foreignOwner(uid_t)
  case openToOthers(mode: mode_t)
  case tooLarge

  /// The number of errno.h that says it best.
  package var code: Int32 {
    switch self {
    case .system(let error): error
    case .link: ELOOP
    case .otherKind: EINVAL
    case .foreignOwner, .openToOthers: EPERM
    case .tooLarge: EFBIG
    }
  }
}
