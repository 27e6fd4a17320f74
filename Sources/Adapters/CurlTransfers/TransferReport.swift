public import AgentModel
public import CCurl
internal import Glibc

/// libcurl's report of a failed transfer.
public struct TransferReport {
  private let code: CURLcode
  private let errno: Int32
  private let verification: Int
  private let text: String

  /// - Parameters:
  ///   - errno: of the last failed connect; 0 if none failed.
  ///   - verification: OpenSSL's result of verifying the certificate (`X509_V_…`); 0 if it found no fault.
  ///   - text: libcurl's message. It is matched and never shown: it can contain host names.
  public init(_ code: CURLcode, errno: Int32, verification: Int, text: String) {
    self.code = code
    self.errno = errno
    self.verification = verification
    self.text = text
  }

  /// Why nothing of the request was sent.
  public enum Unsent: Hashable, Sendable {
    case nameNotFound, refused, unreachable, timedOut, invalidURL, other
    case untrusted(TrustFailure)
  }

  public var unsent: Unsent {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotFound
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .invalidURL
    case CURLE_COULDNT_CONNECT:
      switch errno {
      case ECONNREFUSED: .refused
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EACCES, EPERM: .unreachable
      case ETIMEDOUT: .timedOut
      default: .other
      }
    case CURLE_SSL_CONNECT_ERROR: isLostHandshake ? .other : .untrusted(.tls)
    case CURLE_PEER_FAILED_VERIFICATION: .untrusted(refusedCertificate)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .untrusted(.pinMismatch)
    case CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE: .untrusted(.unknownAuthority)
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE,
      CURLE_USE_SSL_FAILED:
      .untrusted(.tls)
    default: .other
    }
  }

  /// Why the response is missing although something may have been sent.
  public enum Loss: Hashable, Sendable { case timedOut, reset, tooLarge, malformed }

  public var loss: Loss {
    switch code {
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_FILESIZE_EXCEEDED: .tooLarge
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .malformed
    default: .reset
    }
  }

  /// The numbers are those of OpenSSL's `x509_vfy.h`, which are part of its interface. libcurl compares the host's name
  /// itself, after OpenSSL has verified the rest and before it sets the result, which is 1 until then.
  private var refusedCertificate: TrustFailure {
    switch verification {
    case 9, 10: .expired
    case 2, 18, 19, 20, 21, 24, 27: .unknownAuthority
    case 0, 1, 62, 64: .wrongName
    default: .tls
    }
  }

  /// The peer closed during the handshake: a bad line, not a verdict on the server. libcurl has no code for it, so its
  /// message decides; other wording counts as `untrusted`, the careful side.
  private var isLostHandshake: Bool {
    ["SSL_connect: ", "Recv failure", "Send failure", "unexpected eof"].contains { phrase in
      text.utf8.indices.contains { text.utf8[$0...].starts(with: phrase.utf8) }
    }
  }
}
