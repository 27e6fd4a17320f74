internal import AgentModel
internal import Glibc
internal import HTTPAdapter
internal import SystemAdapters

/// The files and directories that the options name (docs/callers.md, Confinement).
extension FileAccess {
  init(of options: Options, _ state: PrivateDirectory) {
    var files = FileAccess(owned: [state.path])
    // A rule needs a directory that exists. One that can't be made is told where it is needed.
    if let anchors = options.anchorDirectory {
      _ = try? PrivateDirectory(path: anchors)
      files.owned.append(anchors)
    }
    if case .socket(let path) = options.transport, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      let directory = String(path[..<slash])
      if getenv("LISTEN_FDS") == nil { _ = try? PrivateDirectory(path: directory) }
      files.owned.append(directory)
    }
    if let credentials = options.credentialsDirectory { files.readable.append(credentials) }
    // An editor replaces the file: its directory is named, and that of what a link leads to.
    if let file = options.configuration?.path {
      files.readable += [file, LinkTargets.resolved(file)].compactMap { $0 }.map(Self.directory(of:))
    }
    files.readable += [options.systemDirectory].compactMap { $0 }
    files.readable += [options.network.authorities.file].compactMap { $0 }
    for directory in options.network.authorities.directory?.split(separator: ":").map(String.init) ?? [] {
      files.readable += [directory] + LinkTargets.of(directory) { !Self.isReadAnyway($0) }
    }
    self = files
  }

  private static func isReadAnyway(_ path: String) -> Bool {
    system.readable.contains { path.hasPrefix($0 + "/") }
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
