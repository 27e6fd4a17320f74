/// Whether a bundle with a good signature may follow the one in force.
public enum BundleAdmission: Hashable, Sendable {
  /// It is the first one, or has a later version.
  case new
  /// It is the one in force.
  case same

  /// What is known of a bundle beside its policies.
  public struct Edition: Hashable, Sendable {
    public var version: Int64
    /// Of its bytes.
    public var digest: [UInt8]

    public init(version: Int64, digest: [UInt8]) {
      self.version = version
      self.digest = digest
    }
  }

  /// A version never decreases: an old bundle that is put back would allow what a newer one denies. And what a version
  /// says never changes: the audit log names the version alone.
  public init(of offered: Edition, after kept: Edition?) throws(BundleRefusal) {
    guard let kept, offered != kept else {
      self = kept == nil ? .new : .same
      return
    }
    guard offered.version >= kept.version else { throw .olderVersion(offered.version, kept: kept.version) }
    guard offered.version > kept.version else { throw .changedContent(offered.version) }
    self = .new
  }
}
