public import Secrets

/// The subject tokens of machine identities (RFC 8693), in files that a platform renews: a Kubernetes pod's service
/// account, a job of a build system.
public protocol SubjectTokenFiles: Sendable {
  /// Reads the file anew. Throws for one that is not there, that another user could have written, or that has no token.
  func token(at path: String) async throws(SubjectTokenFault) -> Secret
}

/// Why there is no subject token. The raw values are `data.reason` on the wire.
public enum SubjectTokenFault: String, Error, Sendable {
  /// There is no such file, or it can't be read. The platform may write it still.
  case unreadable = "subjectTokenUnreadable"
  /// It belongs to another user than the agent's, who is not root, or others can write it.
  case foreign = "subjectTokenForeign"
  /// It has no token, or something else.
  case malformed = "subjectTokenMalformed"
}

/// Reads no files.
public struct NoSubjectTokenFiles: SubjectTokenFiles {
  public init() {}

  public func token(at path: String) async throws(SubjectTokenFault) -> Secret { throw .unreadable }
}
