internal import Glibc

/// Makes a directory of mode 0700, unless something has its name already. 0, or the error.
package func makeDirectory(_ path: UnsafePointer<CChar>) -> Int32 {
  guard mkdir(path, 0o700) == 0 else { return errno == EEXIST ? 0 : errno }
  // The umask can only have removed permissions, also the owner's.
  return chmod(path, 0o700) == 0 ? 0 : errno
}

/// As above, with the parents that are missing.
package func makeDirectories(_ path: String) -> Int32 {
  let error = makeDirectory(path)
  guard error == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return error }
  let failure = makeDirectories(String(path[..<slash]))
  return failure == 0 ? makeDirectory(path) : failure
}
