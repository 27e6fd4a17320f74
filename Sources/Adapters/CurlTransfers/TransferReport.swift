public import AgentModel
public import CCurl
internal import Glibc

/// libcurl's report of a failed transfer.
public struct TransferReport {
  private let code: CURLcode
  private let errno: Int32
  private let verification: Int
  private let text: String
  private let proxy: Proxy?

  /// What libcurl tells of the proxy of a transfer.
  public struct Proxy {
    let address: String
    /// The status of its last answer to CONNECT; 0 if none came, or none was asked for.
    let status: Int
    /// Why a SOCKS proxy made no connection (`CURLPX_…`).
    let error: Int
    /// As `verification`, for the proxy's own certificate.
    let verification: Int

    public init(_ address: String, status: Int = 0, error: Int = 0, verification: Int = 0) {
      self.address = address
      self.status = status
      self.error = error
      self.verification = verification
    }
  }

  /// - Parameters:
  ///   - errno: of the last failed connect; 0 if none failed.
  ///   - verification: OpenSSL's result of verifying the certificate (`X509_V_…`); 0 if it found no fault.
  ///   - text: libcurl's message. It is matched and never shown: it can contain host names.
  ///   - proxy: nil for a transfer without one.
  public init(_ code: CURLcode, errno: Int32, verification: Int, text: String, proxy: Proxy? = nil) {
    self.code = code
    self.errno = errno
    self.verification = verification
    self.text = text
    self.proxy = proxy
  }

  /// Why nothing of the request was sent.
  public enum Unsent: Hashable, Sendable {
    case notConnected(ConnectFailure)
    case untrusted(TrustFailure)
  }

  public var unsent: Unsent {
    if let proxy, let cause = cause(in: proxy) { return .notConnected(.proxy(ProxyFailure(cause, of: proxy.address))) }
    if let trustFailure { return .untrusted(trustFailure) }
    return switch code {
    case CURLE_COULDNT_RESOLVE_HOST: .notConnected(.nameNotFound)
    case CURLE_OPERATION_TIMEDOUT: .notConnected(.timedOut)
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .notConnected(.invalidURL)
    case CURLE_COULDNT_CONNECT:
      switch errno {
      case ECONNREFUSED: .notConnected(.refused)
      case _ where isWithoutRoute: .notConnected(.unreachable)
      case ETIMEDOUT: .notConnected(.timedOut)
      default: .notConnected(.other)
      }
    default: .notConnected(.other)
    }
  }

  /// What the proxy did that ended the transfer; nil if it did its part, or if that is not known: the time for a connection
  /// counts for both.
  private func cause(in proxy: Proxy) -> ProxyFailure.Cause? {
    guard !(200...299).contains(proxy.status) else { return nil }
    if proxy.status == 407 { return proxy.refusedCredentials }
    if proxy.status != 0 { return .status(proxy.status) }
    switch code {
    case CURLE_COULDNT_RESOLVE_PROXY: return .nameNotFound
    case CURLE_COULDNT_CONNECT where errno == ECONNREFUSED: return .refused
    case CURLE_COULDNT_CONNECT where isWithoutRoute: return .unreachable
    case CURLE_COULDNT_CONNECT where errno != ETIMEDOUT: return .other
    case CURLE_PROXY: return proxy.wantsCredentials ? proxy.refusedCredentials : .other
    default: break
    }
    guard !proxy.isSOCKS else { return nil }
    switch code {
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY: return .other
    case CURLE_SSL_CONNECT_ERROR where isLostHandshake: return .other
    case CURLE_PEER_FAILED_VERIFICATION: return .untrusted(Self.refusal(of: proxy.verification))
    default: return trustFailure.map { .untrusted($0) }
    }
  }

  private var isWithoutRoute: Bool {
    [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EACCES, EPERM].contains(errno)
  }

  /// Why the other end of the TLS connection was not trusted; nil for every other failure.
  private var trustFailure: TrustFailure? {
    switch code {
    case CURLE_SSL_CONNECT_ERROR: isLostHandshake ? nil : .tls
    case CURLE_PEER_FAILED_VERIFICATION: Self.refusal(of: verification)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .pinMismatch
    case CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE: .unknownAuthority
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE,
      CURLE_USE_SSL_FAILED:
      .tls
    default: nil
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
  private static func refusal(of verification: Int) -> TrustFailure {
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

extension TransferReport.Proxy {
  fileprivate var isSOCKS: Bool { address.hasPrefix("socks") }

  /// It offers no way to authenticate without credentials, or refused those that it got (RFC 1928 §3, RFC 1929 §2).
  fileprivate var wantsCredentials: Bool {
    [CURLPX_NO_AUTH, CURLPX_USER_REJECTED].contains { Int($0.rawValue) == error }
  }

  fileprivate var refusedCredentials: ProxyFailure.Cause {
    ProxyAddress.hasCredentials(address) ? .credentialsRefused : .credentialsMissing
  }
}
