internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import Glibc
internal import Secrets
internal import TransferReports

/// libcurl's handle for one transfer, set up from its `TransferPlan`. Only the loop's thread uses it.
final class EasyHandle {
  let easy: UnsafeMutableRawPointer
  let transfer: Transfer
  /// What the transfer had received when the loop last looked at it after its time was up.
  var overdue: (receivedBytes: Int, since: MonotonicTime)?
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// Nil if libcurl cannot do what the plan asks; nothing is sent then.
  init?(_ transfer: Transfer) {
    guard let easy = ccurl_easy_init() else { return nil }
    self.easy = easy
    self.transfer = transfer
    errorText.pointee = 0
    guard setUp(transfer.plan) else { return nil }
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

  /// The pin of the server's key, once the handshake of a plan that wants it has succeeded.
  var serverKey: String? {
    guard transfer.plan.readsServerKey, let text = ccurl_get_certificate(easy) else { return nil }
    return CertificateKey.pin(ofPEM: String(cString: text))
  }

  private func setUp(_ plan: TransferPlan) -> Bool {
    connection(plan) && trust(plan) && request(plan) && transfer.attach(to: easy) == CURLE_OK
      && pointer(CURLOPT_ERRORBUFFER, errorText)
  }

  private func connection(_ plan: TransferPlan) -> Bool {
    // Without it, a resolver that hangs blocks the loop's thread when its transfer ends. Absent before 7.87.
    _ = number(CURLOPT_QUICK_EXIT, 1)
    // Absent before 7.85. A second check only: `TransferPlan` has judged the URL, and redirects are off.
    _ = string(CURLOPT_PROTOCOLS_STR, "http,https")
    // Absent before 7.87. Authorities that a file no longer has are not trusted for a day.
    _ = number(CURLOPT_CA_CACHE_TIMEOUT, CurlLoop.longestLifetimeSeconds)
    return number(CURLOPT_NOSIGNAL, 1)
      && reuse(plan)
      && number(CURLOPT_FOLLOWLOCATION, 0) && number(CURLOPT_NETRC, 0)
      && number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
      // No `CURLOPT_TIMEOUT_MS`: the loop ends what takes too long, once it has read what waits in the socket.
      && number(CURLOPT_CONNECTTIMEOUT_MS, plan.connectTimeout)
      && number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      && proxy(plan)
      && (!plan.readsServerKey || number(CURLOPT_CONNECT_ONLY, 1) && number(CURLOPT_CERTINFO, 1))
  }

  /// A request without `reuse` has a connection of its own: libcurl resends a request if a kept connection turns out to
  /// be dead. With it `Transfer.aboutToSend` decides whether libcurl may.
  private func reuse(_ plan: TransferPlan) -> Bool {
    guard let reuse = plan.reuse else {
      return number(CURLOPT_FRESH_CONNECT, 1) && number(CURLOPT_FORBID_REUSE, 1)
    }
    let idle = reuse.isRepeatable ? CurlLoop.longestIdleSeconds : CurlLoop.longestIdleSecondsBeforeWrites
    return number(CURLOPT_FRESH_CONNECT, transfer.mayReuse ? 0 : 1)
      && number(CURLOPT_MAXAGE_CONN, idle)
      && number(CURLOPT_MAXLIFETIME_CONN, CurlLoop.longestLifetimeSeconds)
  }

  /// An empty name means no proxy, also if the environment names one.
  private func proxy(_ plan: TransferPlan) -> Bool {
    if plan.url.isLoopback || plan.proxy == ProxyAddress.none { return string(CURLOPT_PROXY, "") }
    return plan.proxy == nil || string(CURLOPT_PROXY, plan.proxy)
  }

  private func trust(_ plan: TransferPlan) -> Bool {
    guard number(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2), number(CURLOPT_SSL_VERIFYPEER, 1),
      number(CURLOPT_SSL_VERIFYHOST, 2), ccurl_cleanse_plaintext(easy) == CURLE_OK
    else { return false }
    if let pins = plan.pins, !string(CURLOPT_PINNEDPUBLICKEY, pins) { return false }
    if plan.authorities != CertificateAuthorities() {
      let isTrusted =
        plan.certificates.map { ccurl_set_authorities(easy, $0, $0.count) == CURLE_OK }
        ?? string(CURLOPT_CAINFO, plan.authorities.file)
      return isTrusted && string(CURLOPT_CAPATH, plan.authorities.directory)
    }
    // If the system has one file with all authorities, only that: from 7.87 on libcurl parses it once while the thread
    // lives, but a directory beside it costs 16 ms for each connection.
    return ccurl_get_string(easy, CURLINFO_CAINFO) == nil || string(CURLOPT_CAPATH, nil)
  }

  private func request(_ plan: TransferPlan) -> Bool {
    guard string(CURLOPT_URL, plan.url.text), number(CURLOPT_PATH_AS_IS, 1),
      pointer(CURLOPT_HTTPHEADER, plan.fields.list)
    else { return false }
    if let body = plan.body {
      // Guarded memory, which the plan keeps as long as the transfer; libcurl sends from this address.
      let bytes = body.withBytes { $0.baseAddress }
      guard number(CURLOPT_POST, 1), pointer(CURLOPT_POSTFIELDS, bytes),
        ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)) == CURLE_OK
      else { return false }
    } else {
      guard number(plan.method == "HEAD" ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1) else { return false }
    }
    // A response that announces too much is refused early. One to HEAD announces a length without a body.
    let announced = plan.method == "HEAD" ? 0 : plan.maximumResponseBytes
    return ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(announced)) == CURLE_OK
      && string(CURLOPT_CUSTOMREQUEST, plan.method)
      // `BodyDecoder` decodes: libcurl would take a stream that was cut for a complete one.
      && number(CURLOPT_HTTP_CONTENT_DECODING, 0)
      && (!transfer.isDecoded || string(CURLOPT_ACCEPT_ENCODING, "gzip, deflate"))
  }

  private func number(_ option: CURLoption, _ value: Int) -> Bool { ccurl_set_long(easy, option, value) == CURLE_OK }

  private func string(_ option: CURLoption, _ value: String?) -> Bool {
    ccurl_set_string(easy, option, value) == CURLE_OK
  }

  private func pointer(_ option: CURLoption, _ value: UnsafeRawPointer?) -> Bool {
    ccurl_set_pointer(easy, option, value) == CURLE_OK
  }
}
