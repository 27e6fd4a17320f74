import CommandSupport

/// What a sandbox shows of this machine's files, and how bwrap(1) makes it.
struct SandboxPlan: Equatable {
  /// A directory of a profile that is kept between runs.
  struct Kept: Equatable {
    /// Where its command sees it: below the home.
    let inside: String
    /// Where its files lie.
    let outside: String
  }

  /// A directory of the system.
  enum System: Equatable {
    case directory(String)
    case link(String, target: String)

    var path: String {
      switch self {
      case .directory(let path), .link(let path, _): path
      }
    }
  }

  /// Hidden behind an empty directory in memory.
  var home: String
  /// The current directory: it is written to.
  var directory: String
  var reads: [String] = []
  var writes: [String] = []
  var kept: [Kept] = []
  var system: [System] = []
  /// What is of the kernel in /proc, and is only read there: root's programs may write it without any capability.
  var settings: [String] = []
  /// Directories of the system that are hidden.
  var hidden: [String] = []

  /// Directories of which a sandbox has its own, empty and in memory.
  static let inMemory = ["/tmp", "/var/tmp", "/run"]

  /// Where the command sees the certificate of the run's authority.
  static let certificate = "/run/lanyard/authorities.pem"

  /// The options of bwrap, then the words of the program that enters.
  ///
  /// - Parameters:
  ///   - filter: a descriptor with the filter of system calls.
  ///   - certificate: where the file lies outside; nil without one.
  func words(
    program: String, filter: Int32, certificate: String?, entering entry: [String]
  ) -> [String] {
    // Not `--new-session`: the terminal and its signals work as without, and the filter refuses to type into it.
    var words = [
      "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox", "--seccomp", String(filter),
    ]
    for each in system {
      switch each {
      case .directory(let path): words += ["--ro-bind", path, path]
      case .link(let path, let target): words += ["--symlink", target, path]
      }
    }
    for path in hidden { words += ["--tmpfs", path] }
    words += ["--proc", "/proc"]
    for path in settings { words += ["--ro-bind", path, path] }
    words += ["--dev", "/dev"]
    for path in Self.inMemory + [home] { words += ["--tmpfs", path] }
    for place in places { words += [place.option, place.outside, place.inside] }
    words += ["--ro-bind", program, InsideSandbox.entry]
    if let certificate { words += ["--ro-bind", certificate, Self.certificate] }
    return words + ["--chdir", directory, InsideSandbox.entry] + entry
  }

  private struct Place {
    let option: String
    let outside: String
    let inside: String
  }

  /// A directory comes before those in it, so that each keeps its own right; the same one may be written if either says so.
  private var places: [Place] {
    let read = reads.map { Place(option: "--ro-bind", outside: $0, inside: $0) }
    let written = (writes + [directory]).map { Place(option: "--bind", outside: $0, inside: $0) }
    let kept = kept.map { Place(option: "--bind", outside: $0.outside, inside: $0.inside) }
    return (read + kept + written).enumerated().sorted { one, other in
      let (first, second) = (one.element.inside.utf8.count, other.element.inside.utf8.count)
      return first == second ? one.offset < other.offset : first < second
    }.map(\.element)
  }
}
