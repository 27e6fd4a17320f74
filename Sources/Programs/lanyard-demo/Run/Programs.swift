import Foundation

/// Paths and children of the demo's programs.
enum Programs {
  /// The directory of this program and the others.
  static let directory: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: own).deletingLastPathComponent().path
  }()

  /// The Python client: installed with the programs, by `make install` or as a wheel, or in the source tree above them.
  /// Nil if there is none.
  static let pythonClient: String? = {
    let libraries = "\(directory)/../lib"
    let pythons = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
    var candidates = ["\(directory)/../share/lanyard/python"]
    candidates += pythons.filter { $0.hasPrefix("python3") }.sorted().map { "\(libraries)/\($0)/site-packages" }
    var above = URL(fileURLWithPath: directory)
    while above.path != "/" {
      above.deleteLastPathComponent()
      candidates.append(above.appendingPathComponent("Clients/python/src").path)
    }
    return candidates.first { FileManager.default.fileExists(atPath: "\($0)/lanyard/__init__.py") }
  }()

  /// The children of a process (proc(5): the fourth field of `stat`; the second is a name in parentheses).
  static func children(of parent: pid_t) -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap(pid_t.init).filter { pid in
      guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
        let name = stat.lastIndex(of: ")")
      else { return false }
      let fields = stat[stat.index(after: name)...].split(separator: " ")
      return fields.count > 1 && pid_t(fields[1]) == parent
    }
  }
}
