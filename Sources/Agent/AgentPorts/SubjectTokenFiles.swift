public import Secrets

/// The subject tokens of machine identities (RFC 8693), in files that a platform renews: a Kubernetes pod's service
/// account, a job of a build system.
public protocol SubjectTokenFiles: Sendable {
  /// Reads the file anew. Throws for one that is not there, that another user could have written, or that has no token.
  func token(at path: String) async throws(SubjectTokenFault) -> Secret
}

/// Why there is no subject token. The raw values are `data.reason` on the wire.
public enum SubjectTokenFault: String, Error, CaseIterable, Sendable {
  /// There is no such file.
  case missing = "subjectTokenMissing"
  /// The agent may not open it, or reading fails.
  case unreadable = "subjectTokenUnreadable"
  /// It belongs to another user than the agent's, who is not root.
  case foreign = "subjectTokenForeign"
  /// Others than its owner can write it.
  case writable = "subjectTokenWritable"
  /// It has nothing but white space.
  case empty = "subjectTokenEmpty"
  /// It is larger than 64 KiB.
  case tooLarge = "subjectTokenTooLarge"
  /// It has something else than a token, or is no file.
  case malformed = "subjectTokenMalformed"

  /// The platform may write the file still, or again.
  public var mayPass: Bool {
    switch self {
    case .missing, .unreadable, .empty: true
    case .foreign, .writable, .tooLarge, .malformed: false
    }
  }
}

/// Reads no files.
public struct NoSubjectTokenFiles: SubjectTokenFiles {
  public init() {}

  public func token(at path: String) async throws(SubjectTokenFault) -> Secret { throw .unreadable }
}
