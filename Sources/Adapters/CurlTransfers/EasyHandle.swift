internal import AgentModel
package import CCurl

/// libcurl's handle for one request: the only place that says what libcurl does with it. One thread at a time uses it.
package final class EasyHandle {
  package let easy: UnsafeMutableRawPointer
  let receiver: any TransferReceiver
  private let request: TransferRequest
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// After this time names are resolved and certificates verified anew.
  private static let longestLifetimeSeconds = 300

  /// Nil if libcurl cannot do what is asked; nothing is sent then.
  package init?(_ request: TransferRequest, _ rule: ConnectionRule, _ receiver: any TransferReceiver) {
    guard let easy = ccurl_easy_init() else { return nil }
    self.easy = easy
    self.receiver = receiver
    self.request = request
    errorText.pointee = 0
    guard connection(rule), proxy(), trust(), head(), body(), attach(), pointer(CURLOPT_ERRORBUFFER, errorText) else {
      return nil
    }
  }

  deinit {
    ccurl_easy_cleanup(easy)
    errorText.deallocate()
  }

  /// Nil for a complete response.
  package func failure(_ code: CURLcode) -> TransferReport? {
    guard code != CURLE_OK else { return nil }
    return TransferReport(
      code, errno: Int32(truncatingIfNeeded: ccurl_get_long(easy, CURLINFO_OS_ERRNO)),
      verification: ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT), text: String(cString: errorText),
      proxy: request.proxy.map { TransferReport.Proxy($0, told: easy) })
  }

  /// The response came by HTTP/2 or later.
  package var isHTTP2: Bool { ccurl_get_long(easy, CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0 }

  /// Goes on after `later`.
  package func resume() { _ = ccurl_resume(easy) }

  private func connection(_ rule: ConnectionRule) -> Bool {
    // Without it, a resolver that hangs blocks the thread when its transfer ends. Absent before 7.87.
    _ = number(CURLOPT_QUICK_EXIT, 1)
    // Absent before 7.85. A second check only: `TransferRequest` has judged the URL, and redirects are off.
    _ = string(CURLOPT_PROTOCOLS_STR, "http,https")
    // Absent before 7.87. Authorities that a file no longer has are not trusted for a day.
    _ = number(CURLOPT_CA_CACHE_TIMEOUT, Self.longestLifetimeSeconds)
    // libcurl without HTTP/2 refuses the version and stays with HTTP/1.1.
    if !(rule.allowsHTTP2 && request.url.scheme == .https && number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)) {
      guard number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) else { return false }
    }
    // No `CURLOPT_TIMEOUT_MS`: the caller ends what takes too long, once libcurl has read what waits in the socket.
    return number(CURLOPT_NOSIGNAL, 1) && number(CURLOPT_FOLLOWLOCATION, 0) && number(CURLOPT_NETRC, 0)
      && number(CURLOPT_CONNECTTIMEOUT_MS, rule.connectMilliseconds)
      && number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      && reuse(rule)
  }

  /// A request without `longestIdleSeconds` has a connection of its own: libcurl resends a request if a kept connection
  /// turns out to be dead. With it `TransferReceiver.aboutToSend` decides whether libcurl may.
  private func reuse(_ rule: ConnectionRule) -> Bool {
    guard let idle = rule.longestIdleSeconds else {
      return number(CURLOPT_FRESH_CONNECT, 1) && number(CURLOPT_FORBID_REUSE, 1)
    }
    return number(CURLOPT_FRESH_CONNECT, rule.mayReuse ? 0 : 1)
      && number(CURLOPT_MAXAGE_CONN, idle)
      && number(CURLOPT_MAXLIFETIME_CONN, Self.longestLifetimeSeconds)
  }

  /// An empty name means no proxy, also if the environment names one; empty exceptions are none, also if it names some.
  private func proxy() -> Bool { string(CURLOPT_PROXY, request.proxy ?? "") && string(CURLOPT_NOPROXY, "") }

  /// Each connection has a handshake of its own: in a resumed session the server sends no certificate, so none is verified
  /// and none can be shown, and its ticket tells that two accounts are of one machine. From 8.12 on libcurl keeps the sessions of a thread's requests.
  private func trust() -> Bool {
    // `Int(…)`: the version is a constant of an enumeration in older headers of libcurl, and a macro in those of Debian 13.
    guard number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)), number(CURLOPT_SSL_VERIFYPEER, 1),
      number(CURLOPT_SSL_VERIFYHOST, 2), number(CURLOPT_SSL_SESSIONID_CACHE, 0),
      ccurl_cleanse_plaintext(easy) == CURLE_OK
    else { return false }
    if let keys = request.pinnedKeys, !string(CURLOPT_PINNEDPUBLICKEY, keys) { return false }
    let authorities = request.trust.authorities
    if authorities != CertificateAuthorities() {
      let isTrusted =
        request.certificates.map { ccurl_set_authorities(easy, $0, $0.count) == CURLE_OK }
        ?? string(CURLOPT_CAINFO, authorities.file)
      return isTrusted && string(CURLOPT_CAPATH, authorities.directory)
    }
    // If the system has one file with all authorities, only that: from 7.87 on libcurl parses it once while the thread
    // lives, but a directory beside it costs 16 ms for each connection.
    return ccurl_get_string(easy, CURLINFO_CAINFO) == nil || string(CURLOPT_CAPATH, nil)
  }

  private func head() -> Bool {
    string(CURLOPT_URL, request.url.text) && number(CURLOPT_PATH_AS_IS, 1) && target()
      && pointer(CURLOPT_HTTPHEADER, request.headers.list)
      // libcurl would take a compressed stream that was cut for a complete one.
      && number(CURLOPT_HTTP_CONTENT_DECODING, 0)
  }

  /// A credential in the URL stands in what leaves alone, and not in the URL that libcurl keeps with the connection.
  private func target() -> Bool {
    guard let target = request.target?.bytes.baseAddress else { return true }
    return ccurl_set_string(easy, CURLOPT_REQUEST_TARGET, target.assumingMemoryBound(to: CChar.self)) == CURLE_OK
  }

  /// The request keeps the memory of its body, and libcurl sends from it.
  private func body() -> Bool {
    let isChosen =
      switch request.body {
      case .bytes(let memory):
        number(CURLOPT_POST, 1) && pointer(CURLOPT_POSTFIELDS, memory.bytes.baseAddress)
          && ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(memory.count)) == CURLE_OK
      case .stream(let length):
        number(CURLOPT_UPLOAD, 1)
          && ccurl_set_size(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1)) == CURLE_OK
      case .none where request.anticipatesContent: number(CURLOPT_POST, 1) && string(CURLOPT_COPYPOSTFIELDS, "")
      case .none: number(request.method == "HEAD" ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
      }
    return isChosen && string(CURLOPT_CUSTOMREQUEST, request.method)
  }

  package func number(_ option: CURLoption, _ value: Int) -> Bool { ccurl_set_long(easy, option, value) == CURLE_OK }

  package func string(_ option: CURLoption, _ value: String?) -> Bool {
    ccurl_set_string(easy, option, value) == CURLE_OK
  }

  private func pointer(_ option: CURLoption, _ value: UnsafeRawPointer?) -> Bool {
    ccurl_set_pointer(easy, option, value) == CURLE_OK
  }
}

extension TransferReport.Proxy {
  /// What libcurl's handle tells of a proxy after a transfer.
  package init(_ address: String, told easy: UnsafeMutableRawPointer) {
    self.init(
      address, status: ccurl_get_long(easy, CURLINFO_HTTP_CONNECTCODE),
      error: ccurl_get_long(easy, CURLINFO_PROXY_ERROR),
      verification: ccurl_get_long(easy, CURLINFO_PROXY_SSL_VERIFYRESULT))
  }
}
