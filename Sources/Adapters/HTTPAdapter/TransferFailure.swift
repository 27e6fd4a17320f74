internal import AgentPorts
internal import CCurl
internal import Glibc

/// What libcurl said when a transfer failed.
struct TransferFailure {
  let code: CURLcode
  /// Of the connect that failed last; 0 if there was none.
  let errno: Int32
  /// libcurl's sentence. It is looked at and never told: it can hold names of hosts.
  let text: String

  /// Nothing of the request has left.
  var beforeSending: HTTPOutcome {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .notConnected(.nameNotFound)
    case CURLE_OPERATION_TIMEDOUT: .notConnected(.timedOut)
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .notConnected(.invalidURL)
    case CURLE_COULDNT_CONNECT:
      switch errno {
      case ECONNREFUSED: .notConnected(.refused)
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EACCES, EPERM: .notConnected(.unreachable)
      case ETIMEDOUT: .notConnected(.timedOut)
      default: .notConnected(.other)
      }
    case CURLE_SSL_CONNECT_ERROR: isLostHandshake ? .notConnected(.other) : .untrusted
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
      CURLE_USE_SSL_FAILED:
      .untrusted
    default: .notConnected(.other)
    }
  }

  /// The peer went away during the handshake: a bad line, not a judgement on the server. OpenSSL has no code for it
  /// that libcurl would hand on, so it is told by libcurl's words; other words mean `untrusted`, the careful side.
  private var isLostHandshake: Bool {
    ["SSL_connect: ", "Recv failure", "Send failure", "unexpected eof"].contains { phrase in
      text.utf8.indices.contains { text.utf8[$0...].starts(with: phrase.utf8) }
    }
  }

  /// Something may have left.
  var afterSending: HTTPOutcome.LostResponse {
    switch code {
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_FILESIZE_EXCEEDED: .tooLarge
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      .malformed
    default: .reset
    }
  }
}
