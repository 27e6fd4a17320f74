import CommandSupport
import FileRules
import Glibc

/// The file that a collector reads. A reader finds the old content or the new one, and never a part.
struct FigureFile {
  /// Absolute.
  let path: String
  let mode: FileMode

  /// Collectors pass over names that do not end in `.prom`.
  private var draft: String {
    let directory = AgentPaths.directory(of: path)
    let name = path.dropFirst(directory == "/" ? 1 : directory.utf8.count + 1)
    return "\(directory == "/" ? "" : directory)/.\(name).\(getpid())"
  }

  /// Replaces the file. If that fails the old one is removed: its figures would look alive.
  func replace(by text: String) throws(CommandFailure) {
    var text = text
    let error = text.withUTF8 {
      writeFile(UnsafeRawBufferPointer($0), to: path, draft: draft, mode: mode.bits, isDurable: false)
    }
    guard error != 0 else { return }
    remove()
    throw CommandFailure(
      .other, name: "output",
      "The figures could not be written to \(Text.shown(path)): \(SystemError.message(error)).",
      hints: ["Its directory must exist, and you must be able to write there."])
  }

  /// Removes the file, if it is one. It needs no room on the disk.
  func remove() {
    var information = stat()
    if lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG { unlink(path) }
  }
}
