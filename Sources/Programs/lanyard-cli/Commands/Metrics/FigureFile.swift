import CommandSupport
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
    let draft = draft
    let error = write(text, to: draft)
    if error == 0, rename(draft, path) == 0 { return }
    let reason = error == 0 ? errno : error
    unlink(draft)
    remove()
    throw CommandFailure(
      .other, name: "output",
      "The figures could not be written to \(Text.shown(path)): \(SystemError.message(reason)).",
      hints: ["Its directory has to be there, and this user has to be allowed to write in it."])
  }

  /// Removes the file, if it is one. It needs no room on the disk.
  func remove() {
    var information = stat()
    if lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG { unlink(path) }
  }

  /// 0, or the error.
  private func write(_ text: String, to draft: String) -> Int32 {
    // One of a process that was killed and had this id.
    unlink(draft)
    let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { return errno }
    defer { close(file) }
    var text = text
    let isWritten = text.withUTF8 { Output.write(UnsafeRawBufferPointer($0), to: file) }
    guard isWritten, fchmod(file, mode.bits) == 0 else { return errno }
    return 0
  }
}
