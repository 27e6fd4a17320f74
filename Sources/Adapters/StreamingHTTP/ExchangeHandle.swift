internal import AgentModel
internal import CCurl
internal import TransferReports

/// libcurl's handle for one exchange.
final class ExchangeHandle {
  let easy: UnsafeMutableRawPointer
  private let exchange: Exchange
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// After this time names are resolved and certificates verified anew.
  private static let longestLifetimeSeconds = 300

  /// Nil if libcurl cannot do what is asked; nothing is sent then.
  init?(_ exchange: Exchange, _ settings: HTTPClientSettings, mayReuse: Bool) {
    guard let easy = ccurl_easy_init() else { return nil }
    self.easy = easy
    self.exchange = exchange
    errorText.pointee = 0
    guard connection(settings, mayReuse), trust(settings), request(), exchange.attach(to: easy),
      pointer(CURLOPT_ERRORBUFFER, errorText)
    else { return nil }
  }

  deinit {
    ccurl_easy_cleanup(easy)
    errorText.deallocate()
  }

  func failure(_ code: CURLcode) -> TransferReport? {
    guard code != CURLE_OK else { return nil }
    return TransferReport(
      code, errno: Int32(truncatingIfNeeded: ccurl_get_long(easy, CURLINFO_OS_ERRNO)),
      verification: ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT), text: String(cString: errorText))
  }

  /// The response came by HTTP/2 or later.
  var isHTTP2: Bool { ccurl_get_long(easy, CURLINFO_HTTP_VERSION) >= CURL_HTTP_VERSION_2_0 }

  private func connection(_ settings: HTTPClientSettings, _ mayReuse: Bool) -> Bool {
    // Without it, a resolver that hangs blocks the thread when its request ends. Absent before 7.87.
    _ = number(CURLOPT_QUICK_EXIT, 1)
    // Absent before 7.85. A second check only: `HTTPClient` has judged the URL, and redirects are off.
    _ = string(CURLOPT_PROTOCOLS_STR, "http,https")
    // Absent before 7.87. Authorities that a file no longer has are not trusted for a day.
    _ = number(CURLOPT_CA_CACHE_TIMEOUT, Self.longestLifetimeSeconds)
    let url = exchange.request.url
    // libcurl without HTTP/2 refuses the version and stays with HTTP/1.1.
    if !(settings.allowsHTTP2 && url.scheme == .https && number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)) {
      guard number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) else { return false }
    }
    let needsNoProxy = url.isLoopback || settings.proxy == ProxyAddress.none
    return number(CURLOPT_NOSIGNAL, 1) && number(CURLOPT_FOLLOWLOCATION, 0) && number(CURLOPT_NETRC, 0)
      && number(CURLOPT_FRESH_CONNECT, mayReuse ? 0 : 1)
      && number(CURLOPT_MAXAGE_CONN, settings.longestIdleSeconds)
      && number(CURLOPT_MAXLIFETIME_CONN, Self.longestLifetimeSeconds)
      && number(CURLOPT_CONNECTTIMEOUT_MS, min(max(exchange.request.connectMilliseconds, 1), 86_400_000))
      && number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      // An empty name means no proxy, also if the environment names one.
      && (needsNoProxy ? string(CURLOPT_PROXY, "") : settings.proxy == nil || string(CURLOPT_PROXY, settings.proxy))
  }

  private func trust(_ settings: HTTPClientSettings) -> Bool {
    guard number(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2), number(CURLOPT_SSL_VERIFYPEER, 1),
      number(CURLOPT_SSL_VERIFYHOST, 2), ccurl_cleanse_plaintext(easy) == CURLE_OK
    else { return false }
    if settings.authorityFile != nil || settings.authorityDirectory != nil {
      return string(CURLOPT_CAINFO, settings.authorityFile) && string(CURLOPT_CAPATH, settings.authorityDirectory)
    }
    // If the system has one file with all authorities, only that: a directory beside it costs 16 ms for each connection.
    return ccurl_get_string(easy, CURLINFO_CAINFO) == nil || string(CURLOPT_CAPATH, nil)
  }

  private func request() -> Bool {
    let request = exchange.request
    guard string(CURLOPT_URL, request.url.text), number(CURLOPT_PATH_AS_IS, 1),
      pointer(CURLOPT_HTTPHEADER, exchange.headers.list), body()
    else { return false }
    return string(CURLOPT_CUSTOMREQUEST, request.method) && number(CURLOPT_HTTP_CONTENT_DECODING, 0)
  }

  private func body() -> Bool {
    switch exchange.body {
    case .bytes(let bytes):
      // The exchange keeps the memory, and libcurl sends from it.
      let address = bytes.withBytes { $0.baseAddress }
      return number(CURLOPT_POST, 1) && pointer(CURLOPT_POSTFIELDS, address)
        && ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)) == CURLE_OK
    case .stream(let stream):
      return number(CURLOPT_UPLOAD, 1)
        && ccurl_set_size(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(stream.length ?? -1)) == CURLE_OK
    case .none:
      return number(exchange.request.method == "HEAD" ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
    }
  }

  private func number(_ option: CURLoption, _ value: Int) -> Bool { ccurl_set_long(easy, option, value) == CURLE_OK }

  private func string(_ option: CURLoption, _ value: String?) -> Bool {
    ccurl_set_string(easy, option, value) == CURLE_OK
  }

  private func pointer(_ option: CURLoption, _ value: UnsafeRawPointer?) -> Bool {
    ccurl_set_pointer(easy, option, value) == CURLE_OK
  }
}
