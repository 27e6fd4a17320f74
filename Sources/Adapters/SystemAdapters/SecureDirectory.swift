internal import FileRules
internal import Glibc

/// A directory that only its owners can have written to, and its files: no symbolic link leads out of it
/// (docs/administrator.md).
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
    do throws(FileFault) {
      try FileRule.directory(of: owners).check(opened)
    } catch {
      close(opened)
      throw failure(error, path, owners)
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
    guard copy >= 0, let names = namesInDirectory(taking: copy, atMost: Self.mostEntries) else {
      throw Self.failure(errno, path)
    }
    return names
  }

  /// The content of a plain file.
  func bytes(of name: String, atMost most: Int) throws(Failure) -> [UInt8] {
    let file = path + "/" + name
    do throws(FileFault) {
      return try FileRule.file(of: owners).contents(of: name, at: descriptor, atMost: most)
    } catch {
      throw error == .tooLarge ? .unusable("\(file) is larger than \(most) bytes.") : Self.failure(error, file, owners)
    }
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

  private static func failure(_ fault: FileFault, _ path: String, _ owners: Set<uid_t>) -> Failure {
    switch fault {
    case .system(let error): return failure(error, path)
    case .link: return .unusable("\(path) is a symbolic link.")
    // A directory is opened as one, so this is a file.
    case .otherKind: return .unusable("\(path) is not a plain file.")
    case .foreignOwner(let owner):
      let wanted = owners.contains(geteuid()) && geteuid() != 0 ? "root or you" : "root"
      return .unusable("\(path) belongs to the user with the id \(owner), and must belong to \(wanted).")
    case .openToOthers: return .unusable("Others than its owner may write to \(path): `chmod go-w` it.")
    case .tooLarge: return .unusable("\(path) is too large.")
    }
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
