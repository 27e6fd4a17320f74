internal import FileRules
internal import Glibc
internal import JSONRPC

/// The `.lanyard` files that the person trusts (docs/protocol.md, Programs): a cloned repository must not choose an
/// account.
///
/// One line of JSON each in `$XDG_CONFIG_HOME/lanyard/trusted-directories`, with the text of the file at that time: a
/// file that changed is not trusted.
package struct TrustedFiles {
  /// Why the list could not be written, for a person.
  package struct Failure: Error { package let reason: String }

  /// Enough for some thousand directories.
  private static let largestBytes = 1 << 20

  private var files: [DirectoryFile] = []
  private let list: String?
  /// The list is there and can't be used, so that it is not replaced, either.
  private var isRefused = false

  /// Reads the list. An unreadable list, or one that others may write, trusts no file.
  package init() { self.init(list: Self.usualList) }

  package init(list: String?) {
    self.list = list
    guard let list else { return }
    guard let lines = try? FileRule.ownFile.contents(of: list, atMost: Self.largestBytes) else {
      isRefused = access(list, F_OK) == 0
      return
    }
    files = lines.split(separator: UInt8(ascii: "\n")).compactMap(Self.file)
  }

  private static var usualList: String? {
    func value(_ name: String) -> String? {
      guard let value = getenv(name), value.pointee != 0 else { return nil }
      return String(cString: value)
    }
    let directory = value("XDG_CONFIG_HOME") ?? value("HOME").map { "\($0)/.config" }
    return directory.map { "\($0)/lanyard/trusted-directories" }
  }

  /// The paths of the trusted files, sorted by their bytes.
  package var paths: [PathBytes] { files.map(\.path).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) } }

  /// True if the person trusted this file with this text.
  package func contains(_ file: DirectoryFile) -> Bool { files.contains(file) }

  /// True if the person trusted a file at this path, with this text or another.
  package func knows(_ path: PathBytes) -> Bool { files.contains { $0.path == path } }

  /// The nearest file from a directory upward, if the person trusts it as it is: for programs that can't ask. What the
  /// person never trusted chooses nothing and stops nothing, whatever is in it.
  ///
  /// - Throws: `DirectoryFileFault` for a file that the person trusted and that has changed, or can't be read now: no
  ///   other account is chosen in its place.
  package func nearest(to directory: PathBytes) throws(DirectoryFileFault) -> DirectoryFile? {
    do throws(DirectoryFileFault) {
      guard let file = try DirectoryFile.nearest(to: directory) else { return nil }
      guard contains(file) else { throw DirectoryFileFault(path: file.path, reason: .changed) }
      return file
    } catch {
      guard knows(error.path) else { return nil }
      throw error
    }
  }

  /// Trusts the file as it is now.
  package mutating func insert(_ file: DirectoryFile) throws(Failure) {
    files.removeAll { $0.path == file.path }
    files.append(file)
    try write()
  }

  /// Trusts the file no longer; false if it was not trusted.
  package mutating func remove(_ path: PathBytes) throws(Failure) -> Bool {
    guard knows(path) else { return false }
    files.removeAll { $0.path == path }
    try write()
    return true
  }

  // MARK: the list

  /// Replaces the list in one step, so that a crash leaves the old one or the new one.
  private func write() throws(Failure) {
    guard let list else { throw Failure(reason: "HOME is not set") }
    guard !isRefused else {
      throw Failure(
        reason: "\(list) has to be a plain file of yours that no other user can write, of 1 MiB at most")
    }
    let directory = PathBytes(list).directory
    for path in [directory.directory, directory] {
      let error = path.withPointer { makeDirectory($0) }
      guard error == 0 else {
        throw Failure(reason: "\(path.shown) can't be created: \(String(cString: strerror(error)))")
      }
    }
    var text = files.map(Self.line).joined()
    let error = text.withUTF8 {
      writeFile(UnsafeRawBufferPointer($0), to: list, draft: "\(list).\(getpid()).new", isDurable: true)
    }
    guard error == 0 else { throw Failure(reason: "\(list) can't be written: \(String(cString: strerror(error)))") }
  }

  /// A path that is not UTF-8 stands there in hexadecimal digits, since JSON has no bytes.
  private static func line(_ file: DirectoryFile) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    if let path = file.path.text {
      writer.member("path", path)
    } else {
      writer.member("pathInHex", PathBytes.hexadecimal(file.path.bytes))
    }
    writer.member("text", file.text)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n"
  }

  /// Nil for a line that is none of the list's.
  private static func file(_ line: ArraySlice<UInt8>) -> DirectoryFile? {
    line.withUnsafeBytes { bytes in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { node in
        guard let text = node["text"]?.string else { return nil }
        let path =
          node["path"]?.string.map { PathBytes($0) }
          ?? node["pathInHex"]?.string.flatMap { PathBytes.decoded($0.utf8).map { PathBytes($0) } }
        return path.map { DirectoryFile(path: $0, text: text) }
      }
    }
  }
}
