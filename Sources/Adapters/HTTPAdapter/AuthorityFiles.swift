internal import Glibc

/// Files of certificate authorities that this process can't open itself. Each is read once until it changes, however many
/// requests need it at the same time.
package actor AuthorityFiles {
  private static let mostKnown = 16
  /// Readings at once; more wait for one of them.
  private static let mostReading = 8

  /// What changes when a file does.
  private struct Version: Equatable {
    var device: UInt
    var inode: UInt
    var size: Int
    var modified: timespec
    var changed: timespec

    /// Nil if there is no such file now. stat(2) needs no permission for the file itself.
    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
      (modified, changed) = (status.st_mtim, status.st_ctim)
    }

    static func == (one: Self, other: Self) -> Bool {
      func isSame(_ one: timespec, _ other: timespec) -> Bool {
        one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec
      }
      return (one.device, one.inode, one.size) == (other.device, other.inode, other.size)
        && isSame(one.modified, other.modified) && isSame(one.changed, other.changed)
    }
  }

  private let read: @Sendable (String) async -> [UInt8]?
  private var known: [String: (version: Version, certificates: [UInt8])] = [:]
  /// The requests that wait for each reading. No task of its own reads: it would run on the runtime's threads.
  private var reading: [String: [CheckedContinuation<[UInt8]?, Never>]] = [:]
  /// The requests that wait until less is read at once.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  package init(_ read: @escaping @Sendable (String) async -> [UInt8]?) { self.read = read }

  /// The certificates of a PEM file; nil if it can't be read.
  package func certificates(of path: String) async -> [UInt8]? {
    while true {
      // Before the reading: a file that changes during it is read again the next time.
      guard let version = Version(path) else { return nil }
      if let file = known[path], file.version == version { return file.certificates }
      if reading[path] != nil {
        // It may have begun before the file changed, so the version is compared once more.
        if await withCheckedContinuation({ reading[path]?.append($0) }) == nil { return nil }
      } else if reading.count >= Self.mostReading {
        await withCheckedContinuation { waiting.append($0) }
      } else {
        reading[path] = []
        let certificates = await read(path)
        ended(path, version, certificates)
        return certificates
      }
    }
  }

  private func ended(_ path: String, _ version: Version, _ certificates: [UInt8]?) {
    if let certificates {
      if known.count >= Self.mostKnown { known.removeAll() }
      known[path] = (version, certificates)
    }
    for request in reading.removeValue(forKey: path) ?? [] { request.resume(returning: certificates) }
    for request in waiting { request.resume() }
    waiting = []
  }
}
