public import AgentModel

/// Why a fetch of a policy bundle confirmed nothing. The bundle that was in force stays (docs/policy-bundles.md).
public enum BundleRefusal: Error, Hashable, Sendable {
  /// No complete answer came.
  case unreachable
  /// The proxy made no connection.
  case proxy(ProxyFailure)
  /// This machine lacks the library that makes connections.
  case noLibrary(SystemLibrary)
  /// The server did not prove that it is the one of the URL.
  case untrustedServer
  /// An answer with this status, which is neither 200 nor 304.
  case unexpectedStatus(Int)
  /// The answer to the request for the signature had this status.
  case noSignature(Int)
  case tooLarge
  case malformedSignature
  /// The signature names another key than `publicKey`.
  case otherKey
  /// The signature is not that of this bundle, or not by this key, or its trusted comment was changed.
  case wrongSignature
  /// The first problem and its place in the bundle.
  case malformedBundle(PolicyProblem)
  /// The bundle is older than the one in force, which has the version `kept`.
  case olderVersion(Int64, kept: Int64)
  /// The bundle has the version of the one in force, and another content.
  case changedContent(Int64)
  /// The store refused the bundle or its confirmation.
  case notStored

  /// For the wire, the log and the audit log.
  public var word: String {
    switch self {
    case .unreachable, .proxy, .noLibrary: "unreachable"
    case .untrustedServer: "untrustedServer"
    case .unexpectedStatus: "unexpectedStatus"
    case .noSignature: "noSignature"
    case .tooLarge: "tooLarge"
    case .malformedSignature: "malformedSignature"
    case .otherKey: "otherKey"
    case .wrongSignature: "wrongSignature"
    case .malformedBundle: "malformedBundle"
    case .olderVersion: "olderVersion"
    case .changedContent: "changedContent"
    case .notStored: "notStored"
    }
  }

  /// The version that was offered, where that is known from a good signature.
  public var offeredVersion: Int64? {
    switch self {
    case .olderVersion(let version, _), .changedContent(let version): version
    default: nil
    }
  }

  /// True if something was offered and refused, which the audit log tells. A server that does not answer is no event
  /// of security.
  public var isOfContent: Bool {
    switch self {
    case .unreachable, .proxy, .noLibrary, .unexpectedStatus, .notStored: false
    default: true
    }
  }

  /// True if no server answered, so that a network that returns is a reason to try again.
  public var isUnreached: Bool {
    switch self {
    case .unreachable, .proxy, .noLibrary: true
    default: false
    }
  }

  /// A sentence for a person.
  public var sentence: String {
    switch self {
    case .unreachable: "The server of the policy source did not answer."
    case .proxy(let failure): failure.explanation
    case .noLibrary(let library): library.missing
    case .untrustedServer: "The server of the policy source did not prove its name: its certificate was refused."
    case .unexpectedStatus(let status): "The server of the policy source answered with status \(status)."
    case .noSignature(let status): "The signature beside the bundle, `.minisig`, was answered with status \(status)."
    case .tooLarge: "The answer is longer than a policy bundle may be, \(PolicyBundle.maximumBytes) bytes."
    case .malformedSignature: "The file beside the bundle, `.minisig`, is not a minisign signature."
    case .otherKey: "The bundle is signed by another key than `publicKey` of `policySource`."
    case .wrongSignature: "The signature is not that of this bundle."
    case .malformedBundle(let problem):
      "The bundle is signed but can't be read\(problem.pointer.isEmpty ? "" : ", at \(problem.pointer)"): \(problem.text)"
    case .olderVersion(let version, let kept):
      "The bundle has version \(version) and was refused: version \(kept) is in force, and a version never decreases."
    case .changedContent(let version):
      "The bundle has version \(version), which is in force with other content. Its author must raise the version."
    case .notStored: "The store did not take the bundle."
    }
  }
}
