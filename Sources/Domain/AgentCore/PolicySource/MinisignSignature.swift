internal import AgentModel

/// A detached signature that the program `minisign` makes, parsed and not verified yet.
///
/// Four lines: an untrusted comment, the signature, a trusted comment, and the signature of the signature together with
/// the trusted comment.
public struct MinisignSignature: Hashable, Sendable {
  /// What the signature is of.
  public enum Algorithm: Hashable, Sendable {
    /// `Ed`: of the content itself, as `minisign -l` signs.
    case content
    /// `ED`: of the content's BLAKE2b-512, as `minisign` signs since its version 0.8.
    case digest
  }

  public let algorithm: Algorithm
  /// Names the key that signed; see `MinisignKey.id`.
  public let keyID: [UInt8]
  public let signature: [UInt8]
  /// The trusted comment as it stands in the file, without its prefix.
  public let trustedComment: [UInt8]
  /// The signature of `signature` followed by `trustedComment`.
  public let globalSignature: [UInt8]

  /// `minisign` bounds a trusted comment at 8 KiB and the other one at 1 KiB.
  public static let maximumBytes = 16 << 10

  /// Reads the file beside the signed one. Nil if it is no signature of minisign.
  public init?(parsing bytes: [UInt8]) {
    guard bytes.count <= Self.maximumBytes, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let lines = MinisignLines.of(text)
    guard lines.count == 4, lines[0].hasPrefix(MinisignLines.untrusted), lines[2].hasPrefix(MinisignLines.trusted),
      let signed = Base64.decode(lines[1]), signed.count == 2 + MinisignKey.idByteCount + 64,
      let global = Base64.decode(lines[3]), global.count == 64
    else { return nil }
    switch Array(signed[..<2]) {
    case MinisignKey.algorithm: algorithm = .content
    case Array("ED".utf8): algorithm = .digest
    default: return nil
    }
    keyID = Array(signed[2..<10])
    signature = Array(signed[10...])
    trustedComment = Array(lines[2].utf8.dropFirst(MinisignLines.trusted.utf8.count))
    globalSignature = global
  }

  /// Judges the signature of `content`. Nil if it is good.
  ///
  /// - Parameters:
  ///   - verifies: whether the first argument is the Ed25519 signature of the second one under the key `key.bytes`.
  ///   - digest: the BLAKE2b-512 of its argument.
  public func refusal(
    of content: [UInt8], by key: MinisignKey, verifies: ([UInt8], [UInt8]) -> Bool, digest: ([UInt8]) -> [UInt8]
  ) -> BundleRefusal? {
    guard keyID == key.id else { return .otherKey }
    let signed = algorithm == .content ? content : digest(content)
    guard verifies(signature, signed), verifies(globalSignature, signature + trustedComment) else {
      return .wrongSignature
    }
    return nil
  }
}
