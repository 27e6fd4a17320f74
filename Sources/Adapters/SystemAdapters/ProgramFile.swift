package import AgentModel
internal import CPlatform
internal import Glibc

/// The file of a program that runs. An upgrade puts another one in its place; a removal leaves none, and no installer of wheels
/// tells the program so. One thread uses it.
package final class ProgramFile {
  /// An upgrade removes the old file before the new one is there.
  package static let longestUpgrade = Milliseconds.seconds(30)

  private let path: String
  /// Negative while there is no file, or where none can be watched.
  private var watch: Int32
  /// When the file is gone for good; nil while it is there.
  package private(set) var deadline: BootInstant?

  /// Nil if it can't be watched.
  package init?(path: String) {
    self.path = path
    watch = lanyard_watch_file(path)
    if watch < 0 { return nil }
  }

  deinit { if watch >= 0 { close(watch) } }

  /// That of the program of this process; nil if it is not known, or gone.
  package static func ofThisProcess() -> ProgramFile? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0, count < bytes.count else { return nil }
    return ProgramFile(path: String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// Readable after a change; negative: to be looked at by `deadline` alone.
  package var descriptor: Int32 { watch }

  /// Looks at the file after a change or at the deadline. Returns true once it is gone for good.
  package func look(at now: BootInstant) -> Bool {
    if watch >= 0 { close(watch) }
    // The file that is there now, which may be another.
    watch = lanyard_watch_file(path)
    guard watch == -ENOENT || watch == -ENOTDIR else {
      deadline = nil
      return false
    }
    let end = deadline ?? now + Self.longestUpgrade
    deadline = end
    return now >= end
  }
}
