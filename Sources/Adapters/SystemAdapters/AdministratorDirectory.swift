public import AgentPorts
internal import Glibc

/// `AdministratorFiles` in a directory of root's (docs/administrator.md).
public struct AdministratorDirectory: AdministratorFiles {
  public static let usualPath = "/etc/lanyard"

  public let path: String
  private let owners: Set<uid_t>
  private let tell: @Sendable (String) -> Void

  /// A provider's description is a few lines.
  private static let mostProviderBytes = 64 << 10
  /// As in a request.
  private static let mostPolicyBytes = 1 << 20
  /// Of one folder; each is in memory.
  private static let mostFiles = 64

  /// Why a file of the directory can't be used, in a sentence for a person.
  public struct Failure: Error {
    public var text: String
    /// True if this process could read no file at all: another start may read this one.
    public var isOfProcess = false
  }

  /// The directory of this machine. `tell` writes a problem to the log.
  public init(tell: @escaping @Sendable (String) -> Void) {
    self.tell = tell
    path = Self.usualPath
    owners = [0]
  }

  /// Another directory, for a machine that has none; nil where `usualPath` exists. The running user may own it, too.
  public init?(insteadOfUsual path: String, tell: @escaping @Sendable (String) -> Void) {
    var found = stat()
    guard lstat(Self.usualPath, &found) != 0, errno == ENOENT else { return nil }
    self.path = path
    self.tell = tell
    owners = [0, geteuid()]
  }

  /// The content of a file; nil if there is none. Throws for one that can't be used.
  public func bytes(of name: String, atMost most: Int) throws(Failure) -> [UInt8]? {
    do throws(SecureDirectory.Failure) {
      return try open().bytes(of: name, atMost: most)
    } catch {
      switch error {
      case .missing: return nil
      case .unusable(let text): throw Failure(text: text)
      case .exhausted(let text): throw Failure(text: text, isOfProcess: true)
      }
    }
  }

  public func report(_ problem: String) { tell(problem) }

  public func mark() -> [Int64] {
    // Where there is none, as on most machines, this says so in one call.
    var found = stat()
    guard lstat(path, &found) == 0, let directory = try? open() else { return [] }
    var mark = directory.mark { _ in false }
    for name in Self.folders {
      mark.append(0)
      if let folder = try? directory.directory(name) { mark += folder.mark(where: Self.isDocument) }
    }
    return mark
  }

  public func listing() -> AdministratorListing {
    // Before the content: a change meanwhile is found by the next look.
    let mark = mark()
    return AdministratorListing(
      mark: mark, providers: folder("providers.d", Self.mostProviderBytes),
      policies: folder("policies.d", Self.mostPolicyBytes))
  }

  private static let folders = ["providers.d", "policies.d"]

  private func open() throws(SecureDirectory.Failure) -> SecureDirectory {
    // In a directory that others may write to, another one could be put in its place.
    if path == Self.usualPath { _ = try SecureDirectory("/etc", owners: owners) }
    return try SecureDirectory(path, owners: owners)
  }

  private func folder(_ name: String, _ mostBytes: Int) -> AdministratorListing.Folder {
    var found = AdministratorListing.Folder(path: path + "/" + name)
    do throws(SecureDirectory.Failure) {
      let folder = try open().directory(name)
      let names = try folder.names().filter(Self.isDocument)
      for (number, name) in names.enumerated() {
        let path = folder.path + "/" + name
        let content: AdministratorListing.Content
        do throws(SecureDirectory.Failure) {
          guard number < Self.mostFiles else {
            throw .unusable("\(path) is one file too many: the agent reads \(Self.mostFiles) files of this directory.")
          }
          content = .bytes(try folder.bytes(of: name, atMost: mostBytes))
        } catch {
          // Removed since it was listed.
          guard let text = error.text else { continue }
          content = .problem(text)
        }
        found.files.append(.init(path: path, stem: String(name.dropLast(Self.ending.count)), content: content))
      }
    } catch {
      found.problem = error.text
      if case .unusable = error { found.isHidden = Self.mayBeThere(found.path) }
    }
    return found
  }

  /// False only where the kernel says that there is nothing: on a machine whose `/etc` is another user's, as in some
  /// containers, there is no administrator's file.
  private static func mayBeThere(_ path: String) -> Bool {
    var found = stat()
    return lstat(path, &found) == 0 || errno == EACCES
  }

  private static let ending = ".json"

  /// Editors and package managers leave others beside them.
  private static func isDocument(_ name: String) -> Bool { name.hasSuffix(ending) && !name.hasPrefix(".") }
}
