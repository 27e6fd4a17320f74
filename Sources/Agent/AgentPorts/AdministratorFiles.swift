/// The files of the machine's administrator, for every agent (docs/administrator.md).
public protocol AdministratorFiles: Sendable {
  /// Changes when a file was added, removed, written or given other rights. Cheap, and never fails.
  func mark() -> [Int64]
  /// Reads all files. Blocks for the disk.
  func listing() -> AdministratorListing
  /// Tells a problem where the administrator reads it, in the log of the service.
  func report(_ problem: String)
}

/// What stands in the administrator's directory.
public struct AdministratorListing: Sendable {
  public var mark: [Int64]
  public var providers: Folder
  public var policies: Folder

  /// A directory of documents, one a file.
  public struct Folder: Sendable {
    public var path: String
    /// In the order of their names.
    public var files: [File] = []
    /// Why the directory can't be used, in a sentence for a person: what was known of its files stays.
    public var problem: String?
    /// The directory is there, and what it holds is not known.
    public var isHidden = false

    public init(path: String, files: [File] = [], problem: String? = nil) {
      self.path = path
      self.files = files
      self.problem = problem
    }
  }

  public struct File: Sendable {
    public var path: String
    /// The name without its ending.
    public var stem: String
    public var content: Content

    public init(path: String, stem: String, content: Content) {
      self.path = path
      self.stem = stem
      self.content = content
    }
  }

  public enum Content: Sendable {
    case bytes([UInt8])
    /// Why the file can't be used, in a sentence for a person.
    case problem(String)
  }

  public init(mark: [Int64], providers: Folder, policies: Folder) {
    self.mark = mark
    self.providers = providers
    self.policies = policies
  }
}
