import Foundation

/// A directory of mode 0700, removed at the end of the test.
final class TemporaryDirectory {
  let path: String

  init() {
    path = (NSTemporaryDirectory() + "/lanyard-system-XXXXXX").withCString { template in
      let copy = strdup(template)!
      defer { free(copy) }
      return String(cString: mkdtemp(copy))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func path(_ name: String) -> String { path + "/" + name }

  func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) {
    _ = FileManager.default.createFile(atPath: path(name), contents: Data(bytes))
    chmod(path(name), mode)
  }

  func bytes(of name: String) -> [UInt8] { (FileManager.default.contents(atPath: path(name))).map { Array($0) } ?? [] }

  func mode(_ name: String) -> mode_t? {
    var status = stat()
    return lstat(path(name), &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}
