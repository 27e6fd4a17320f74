internal import JSONRPC
internal import Secrets

/// Finds the refresh token in an answer that can't be read as a whole: a name that is no UTF-8, a neighbour nested
/// beyond the bound, a member that stands twice, an end that is missing, also since the response was cut. Nothing else
/// of such an answer is believed, but the successor of a token that was spent is the only one that lives.
///
/// Only the members of the outermost object, or of the first in an array, are looked at, and the name must stand there
/// once.
enum LenientTokenReader {
  /// Nil if there is none, or two that differ.
  static func refreshToken(in body: Secret) -> Secret? {
    body.withBytes { bytes in find(in: bytes).map { Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[$0])) } }
  }

  private static func find(in bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    var found: Range<Int>?
    for member in LenientMembers(bytes) where bytes[member.name].elementsEqual("refresh_token".utf8) {
      // RFC 6749 Appendix A.17: printable ASCII; one that needs an escape is none.
      guard case .text(let value) = member.value, !value.isEmpty, bytes[value].allSatisfy(isTokenByte) else {
        return nil
      }
      if let found, !bytes[found].elementsEqual(bytes[value]) { return nil }
      found = value
    }
    return found
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\\") }
}
