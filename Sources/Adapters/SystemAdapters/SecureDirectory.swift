internal import Glibc

/// A directory that only its owners can have written to, and its files: no symbolic link leads out of it
/// (docs/fleet.md, Administrator's files).
struct SecureDirectory: ~Copyable {
  private let descriptor: Int32
  let path: String
  private let owners: Set<uid_t>

  /// Why a directory or a file can't be used.
  enum Failure: Error {
    case missing
    /// In a sentence for a person.
    case unusable(String)
    /// This process has no descriptor or no memory left, which says nothing of the file.
    case exhausted(String)

    /// Nil for what is missing.
    var text: String? {
      switch self {
      case .missing: nil
      case .unusable(let text), .exhausted(let text): text
      }
    }
  }

  /// More entries are not looked at.
  static let mostEntries = 4096

  /// `owners`: the users that may own the directory and what is in it.
  init(_ path: String, owners: Set<uid_t>) throws(Failure) {
    self.init(try Self.opened(path, at: AT_FDCWD, path, owners), path, owners)
  }

  private init(_ descriptor: Int32, _ path: String, _ owners: Set<uid_t>) {
    (self.descriptor, self.path, self.owners) = (descriptor, path, owners)
  }

  private static func opened(
    _ name: String, at parent: Int32, _ path: String, _ owners: Set<uid_t>
  ) throws(Failure) -> Int32 {
    let opened = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else {
      let error = errno
      // With O_DIRECTORY the kernel says ENOTDIR of a link, too.
      throw isLink(name, at: parent) ? .unusable("\(path) is a symbolic link.") : failure(error, path)
    }
    do throws(Failure) {
      _ = try status(of: opened, path, S_IFDIR, owners)
    } catch {
      close(opened)
      throw error
    }
    return opened
  }

  deinit { close(descriptor) }

  func directory(_ name: String) throws(Failure) -> SecureDirectory {
    let path = path + "/" + name
    return SecureDirectory(try Self.opened(name, at: descriptor, path, owners), path, owners)
  }

  /// The names of the entries, sorted by their bytes.
  func names() throws(Failure) -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else { throw Self.failure(errno, path) }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count < Self.mostEntries, let entry = readdir(stream) {
      let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(String(cString: name))
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The content of a plain file.
  func bytes(of name: String, atMost most: Int) throws(Failure) -> [UInt8] {
    let file = path + "/" + name
    let opened = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard opened >= 0 else {
      throw errno == ELOOP ? .unusable("\(file) is a symbolic link.") : Self.failure(errno, file)
    }
    defer { close(opened) }
    let size = try Self.status(of: opened, file, S_IFREG, owners).st_size
    guard size <= most else { throw .unusable("\(file) is larger than \(most) bytes.") }
    var bytes = [UInt8](repeating: 0, count: most + 1)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { read(opened, $0.baseAddress! + count, $0.count - count) }
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { throw Self.failure(errno, file) }
      if more == 0 { return Array(bytes[..<count]) }
      count += more
    }
    throw .unusable("\(file) is larger than \(most) bytes.")
  }

  /// What changes with the directory and its entries whose names `isWanted`.
  func mark(where isWanted: (String) -> Bool) -> [Int64] {
    var found = stat()
    var mark = fstat(descriptor, &found) == 0 ? Self.mark(found) : [-1]
    for name in (try? names()) ?? [] where isWanted(name) {
      mark += fstatat(descriptor, name, &found, AT_SYMLINK_NOFOLLOW) == 0 ? Self.mark(found) : [-1]
    }
    return mark
  }

  private static func mark(_ found: stat) -> [Int64] {
    [
      Int64(truncatingIfNeeded: found.st_dev), Int64(truncatingIfNeeded: found.st_ino), Int64(found.st_size),
      Int64(found.st_mtim.tv_sec), Int64(found.st_mtim.tv_nsec), Int64(found.st_ctim.tv_sec),
      Int64(found.st_ctim.tv_nsec), Int64(found.st_mode), Int64(found.st_uid),
    ]
  }

  /// Checks type, owner and rights of what was opened: a check by name could be of another file.
  private static func status(
    of opened: Int32, _ path: String, _ type: mode_t, _ owners: Set<uid_t>
  ) throws(Failure) -> stat {
    var found = stat()
    guard fstat(opened, &found) == 0 else { throw failure(errno, path) }
    guard found.st_mode & S_IFMT == type else {
      throw .unusable("\(path) is not a \(type == S_IFDIR ? "directory" : "plain file").")
    }
    guard owners.contains(found.st_uid) else {
      let owner = owners.contains(geteuid()) && geteuid() != 0 ? "root or you" : "root"
      throw .unusable("\(path) belongs to the user with the id \(found.st_uid), and must belong to \(owner).")
    }
    guard found.st_mode & 0o022 == 0 else {
      throw .unusable("Others than its owner may write to \(path): `chmod go-w` it.")
    }
    return found
  }

  private static func isLink(_ name: String, at parent: Int32) -> Bool {
    var found = stat()
    return fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_mode & S_IFMT == S_IFLNK
  }

  private static func failure(_ error: Int32, _ path: String) -> Failure {
    let text = "\(path) can't be read: \(String(cString: strerror(error)))."
    return switch error {
    case ENOENT: .missing
    case EMFILE, ENFILE, ENOMEM: .exhausted(text)
    default: .unusable(text)
    }
  }
}
