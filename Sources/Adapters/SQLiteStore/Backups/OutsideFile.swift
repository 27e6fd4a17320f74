internal import AgentPorts
internal import CPlatform
internal import Glibc

/// A file that a person named, anywhere they can write: its contents are not trusted, no existing file is overwritten,
/// and no symlink is followed.
struct OutsideFile {
  private let directory: String
  private let name: String
  private let path: String

  /// Far above any store of this agent; a larger file would only fill the disk.
  private static let mostBytes = 4 << 30
  private static let pieceBytes = 64 << 10

  init(_ path: String) throws(BackupFileFailure) {
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), !path.utf8.contains(0) else { throw .noPath }
    name = String(path[path.index(after: slash)...])
    directory = slash == path.startIndex ? "/" : String(path[..<slash])
    guard !name.isEmpty, name != ".", name != ".." else { throw .noPath }
    self.path = path
  }

  /// True if the path is free and its directory exists.
  func checkFree() throws(BackupFileFailure) {
    let place = try openDirectory()
    defer { close(place) }
    try checkFree(in: place)
    guard faccessat(place, ".", W_OK | X_OK, 0) == 0 else { throw Self.failure(errno) }
  }

  private func checkFree(in place: Int32) throws(BackupFileFailure) {
    var status = stat()
    // A dangling symlink counts as a file too.
    if fstatat(place, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { throw .exists }
    guard errno == ENOENT else { throw Self.failure(errno) }
  }

  /// Copies a private file here. The copy gets its name when it is complete and durable: if this ends early, no file is
  /// there.
  ///
  /// - Parameter from: a descriptor of the private file.
  func write(from: Int32) throws(BackupFileFailure) -> Int {
    let place = try openDirectory()
    defer { close(place) }
    try checkFree(in: place)
    // An unnamed file leaves nothing behind. If the file system has none, the copy gets a temporary name that shows
    // what it is.
    let partial = ".\(name).partial"
    var isNamed = false
    var file = lanyard_open_unnamed(place)
    if file < 0 {
      unlinkat(place, partial, 0)
      file = openat(place, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Self.failure(errno) }
      isNamed = true
    }
    defer {
      close(file)
      if isNamed { unlinkat(place, partial, 0) }
    }
    // Some file systems have no modes and refuse this; the copy is made all the same.
    _ = fchmod(file, 0o600)
    let count = try Self.copy(from, to: file, limit: .max)
    guard fsync(file) == 0 else { throw Self.failure(errno) }
    let result = isNamed ? lanyard_rename_new(place, partial, name) : lanyard_name_file(file, place, name)
    guard result == 0 else { throw Self.failure(-result) }
    guard fsync(place) == 0 else { throw Self.failure(errno) }
    return count
  }

  /// Opens this file for reading, if it begins like a store and has nothing behind it.
  func openStore() throws(BackupFileFailure) -> Int32 {
    let from = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard from >= 0 else { throw errno == ENOENT || errno == ENOTDIR ? .notFound : Self.failure(errno) }
    var isStore = false
    defer { if !isStore { close(from) } }
    var status = stat()
    guard fstat(from, &status) == 0 else { throw Self.failure(errno) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.mostBytes else { throw .notABackup }
    guard let header = StoreHeader(of: from) else { throw .notABackup }
    guard header.isEnd(Int(status.st_size)) else { throw .store(.corrupt) }
    isStore = true
    return from
  }

  /// Copies a file that `openStore` opened into a new private file.
  static func copy(_ from: Int32, into target: String) throws(BackupFileFailure) {
    let file = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(errno) }
    defer { close(file) }
    guard fchmod(file, 0o600) == 0 else { throw failure(errno) }
    _ = try copy(from, to: file, limit: mostBytes)
  }

  private func openDirectory() throws(BackupFileFailure) -> Int32 {
    let place = lanyard_open_directory_for_sync(directory)
    if place >= 0 { return place }
    switch -place {
    case ENOENT, ENOTDIR, ELOOP: throw .noDirectory
    case let error: throw Self.failure(error)
    }
  }

  private static func copy(_ from: Int32, to file: Int32, limit: Int) throws(BackupFileFailure) -> Int {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
    defer { memory.deallocate() }
    var count = 0
    while true {
      let got = Glibc.read(from, memory.baseAddress!, memory.count)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw failure(errno) }
      if got == 0 { return count }
      var done = 0
      while done < got {
        let written = Glibc.write(file, memory.baseAddress! + done, got - done)
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { throw failure(errno) }
        done += written
      }
      count += got
      // The file grew while it was read.
      guard count <= limit else { throw .notABackup }
    }
  }

  private static func failure(_ error: Int32) -> BackupFileFailure {
    switch error {
    case EEXIST: .exists
    case EACCES, EPERM: .forbidden
    case ELOOP, ENXIO, EISDIR: .notABackup
    case ENAMETOOLONG, EINVAL: .noPath
    case ENOSPC, EDQUOT, EFBIG: .store(.full)
    case EROFS: .store(.readOnly)
    default: .store(.inputOutput)
    }
  }
}
