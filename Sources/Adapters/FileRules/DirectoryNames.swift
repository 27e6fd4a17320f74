internal import Glibc

/// The names in a directory, sorted by their bytes, without `.` and `..`; none if it can't be read.
package func namesInDirectory(_ path: String) -> [String] {
  let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  return directory < 0 ? [] : namesInDirectory(taking: directory) ?? []
}

/// As above, of an open directory, which is closed. Nil if it can't be read.
package func namesInDirectory(taking descriptor: Int32, atMost most: Int = .max) -> [String]? {
  guard let stream = fdopendir(descriptor) else {
    let error = errno
    close(descriptor)
    errno = error
    return nil
  }
  defer { closedir(stream) }
  var names: [String] = []
  while names.count < most, let entry = readdir(stream) {
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
    if name != ".", name != ".." { names.append(name) }
  }
  return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}
