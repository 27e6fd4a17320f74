import CommandSupport
import FileRules
import Glibc

/// A configuration file of the person. A link to it, as many keep in their home directory, stays a link.
struct SetupFile {
  let path: String
  let text: String
  private let present: StoreFile?

  init(_ named: String) throws(CommandFailure) {
    path = Self.target(of: named)
    present = try StoreFile.read(path)
    guard let present else {
      text = ""
      return
    }
    text = present.contents.text(0..<present.contents.count)
    guard text.utf8.count == present.contents.count else { throw present.malformed("text in UTF-8") }
  }

  var isThere: Bool { present != nil }

  /// Replaces the file in one step. A file that would be empty is removed, unless `keepingEmpty`.
  func replace(by new: String, keepingEmpty: Bool = false) throws(CommandFailure) {
    var new = new
    if let present {
      if new.isEmpty, !keepingEmpty { return try present.delete() }
      return try present.replace(by: new.withUTF8 { HeldBytes(UnsafeRawBufferPointer($0)) })
    }
    guard !new.isEmpty || keepingEmpty else { return }
    try Self.makeDirectories(AgentPaths.directory(of: path))
    // Nothing that another program puts there meanwhile is replaced.
    let error = new.withUTF8 {
      writeFile(
        UnsafeRawBufferPointer($0), to: path, draft: "\(path).lanyard-\(getpid())", isDurable: true, replacing: false)
    }
    guard error == 0 else { throw Self.failure(path, error) }
  }

  static func makeDirectories(_ directory: String) throws(CommandFailure) {
    let error = FileRules.makeDirectories(directory)
    guard error == 0 else { throw failure(directory, error) }
  }

  private static func failure(_ path: String, _ error: Int32) -> CommandFailure {
    CommandFailure(
      .other, name: "output", "\(path) can't be written: \(SystemError.message(error)). It was not changed.")
  }

  private static func target(of named: String) -> String {
    guard let found = realpath(named, nil) else { return named }
    defer { free(found) }
    return String(cString: found)
  }
}
