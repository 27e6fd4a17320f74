internal import Glibc

/// Where the links in a directory of authorities lead (`c_rehash` makes links).
///
/// There are hundreds at each start, and most lead to files of one other directory. Each such directory is resolved and
/// listed once; a link costs one readlink(2) and no allocation.
struct LinkTargets {
  private let isWanted: (String) -> Bool
  /// By the text of a directory in a link: whether its files need no look, since they are no links and not wanted.
  private var plainDirectories: [String: Bool] = [:]
  private var lastDirectory: [CChar] = []
  private var lastIsPlain = false
  private var targets: [String] = []

  private init(_ isWanted: @escaping (String) -> Bool) { self.isWanted = isWanted }

  /// The resolved paths that the links in `directory` lead to, as far as they are wanted.
  static func of(_ directory: String, isWanted: @escaping (String) -> Bool) -> [String] {
    var links = LinkTargets(isWanted)
    links.read(directory)
    return links.targets
  }

  static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private mutating func read(_ directory: String) {
    guard let stream = opendir(directory) else { return }
    defer { closedir(stream) }
    let descriptor = dirfd(stream)
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      while let name = Self.nextLink(stream) {
        let count = readlinkat(descriptor, name, buffer.baseAddress!, buffer.count)
        guard count > 0 else { continue }
        let link = UnsafeBufferPointer(rebasing: buffer[..<count])
        // A link to a neighbour: the neighbour has an entry of its own.
        guard let slash = link.lastIndex(of: CChar(UInt8(ascii: "/"))) else { continue }
        guard !isPlain(UnsafeBufferPointer(rebasing: link[..<slash]), beneath: directory) else { continue }
        if let target = Self.resolved(directory + "/" + String(cString: name)), isWanted(target) {
          targets.append(target)
        }
      }
    }
  }

  private mutating func isPlain(_ text: UnsafeBufferPointer<CChar>, beneath directory: String) -> Bool {
    if text.elementsEqual(lastDirectory) { return lastIsPlain }
    lastDirectory = Array(text)
    let name = String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let path = text.first == CChar(UInt8(ascii: "/")) || text.isEmpty ? name + "/" : directory + "/" + name
    lastIsPlain = plainDirectories[path] ?? hasNoLinks(path)
    plainDirectories[path] = lastIsPlain
    return lastIsPlain
  }

  private func hasNoLinks(_ path: String) -> Bool {
    guard let place = Self.resolved(path), !isWanted(place + "/file"), let stream = opendir(place) else { return false }
    defer { closedir(stream) }
    return Self.nextLink(stream) == nil
  }

  /// The name of the next entry that is a link, or may be one: some file systems don't tell. Nil at the end.
  private static func nextLink(_ stream: OpaquePointer) -> UnsafePointer<CChar>? {
    while let entry = readdir(stream) {
      guard entry.pointee.d_type == UInt8(DT_LNK) || entry.pointee.d_type == UInt8(DT_UNKNOWN) else { continue }
      let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
      return UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
    }
    return nil
  }
}
