internal import AgentModel
internal import AgentPorts
internal import CCurl
internal import Glibc
internal import Secrets

/// libcurl's handle for one transfer, set up from its plan. It lives on the loop's thread.
final class EasyHandle {
  let easy: UnsafeMutableRawPointer
  let transfer: Transfer
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// Nil if libcurl can't do what the plan asks: then nothing is sent at all.
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

  func failure(_ code: CURLcode) -> TransferFailure? {
    guard code != CURLE_OK else { return nil }
    return TransferFailure(
      code: code, errno: Int32(truncatingIfNeeded: ccurl_get_long(easy, CURLINFO_OS_ERRNO)),
      text: String(cString: errorText))
  }

  private func setUp(_ plan: TransferPlan) -> Bool {
    connection(plan) && trust(plan) && request(plan) && transfer.attach(to: easy) == CURLE_OK
      && pointer(CURLOPT_ERRORBUFFER, errorText)
  }

  private func connection(_ plan: TransferPlan) -> Bool {
    // Without it a resolver that hangs would hold up everybody when its transfer ends. Absent before 7.87.
    _ = number(CURLOPT_QUICK_EXIT, 1)
    // Absent before 7.85; the URL was parsed by us and redirects are off, so this is the second lock.
    _ = string(CURLOPT_PROTOCOLS_STR, "http,https")
    return number(CURLOPT_NOSIGNAL, 1)
      // Each request on a connection of its own: on a reused one libcurl resends what a dead peer left unanswered.
      && number(CURLOPT_FRESH_CONNECT, 1) && number(CURLOPT_FORBID_REUSE, 1)
      && number(CURLOPT_FOLLOWLOCATION, 0) && number(CURLOPT_NETRC, 0)
      && number(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
      && number(CURLOPT_CONNECTTIMEOUT_MS, plan.connectTimeout) && number(CURLOPT_TIMEOUT_MS, plan.timeout)
      && number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      // The empty name is libcurl's word for "no proxy, whatever the environment says".
      && (!plan.url.isLoopback || string(CURLOPT_PROXY, ""))
  }

  private func trust(_ plan: TransferPlan) -> Bool {
    guard number(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2), number(CURLOPT_SSL_VERIFYPEER, 1),
      number(CURLOPT_SSL_VERIFYHOST, 2), ccurl_cleanse_plaintext(easy) == CURLE_OK
    else { return false }
    if let pins = plan.pins, !string(CURLOPT_PINNEDPUBLICKEY, pins) { return false }
    if let authorities = plan.certificateAuthorities {
      return string(CURLOPT_CAINFO, authorities) && string(CURLOPT_CAPATH, nil)
    }
    // Where the system has one file with all authorities, that alone: it is parsed once for as long as the thread
    // lives (from libcurl 7.87), while a directory beside it makes that 16 ms for each connection.
    return ccurl_get_string(easy, CURLINFO_CAINFO) == nil || string(CURLOPT_CAPATH, nil)
  }

  private func request(_ plan: TransferPlan) -> Bool {
    guard string(CURLOPT_URL, plan.url.text), number(CURLOPT_PATH_AS_IS, 1),
      pointer(CURLOPT_HTTPHEADER, plan.fields.list)
    else { return false }
    if let body = plan.body {
      // Guarded memory, kept by the plan as long as the transfer; libcurl sends from this address.
      let bytes = body.withBytes { $0.baseAddress }
      guard number(CURLOPT_POST, 1), pointer(CURLOPT_POSTFIELDS, bytes),
        ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)) == CURLE_OK
      else { return false }
    } else {
      guard number(plan.method == "HEAD" ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1) else { return false }
    }
    // An answer that announces too much need not come at all; one to HEAD announces what it does not bring.
    let announced = plan.method == "HEAD" ? 0 : plan.maximumResponseBytes
    return ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(announced)) == CURLE_OK
      && string(CURLOPT_CUSTOMREQUEST, plan.method)
  }

  private func number(_ option: CURLoption, _ value: Int) -> Bool { ccurl_set_long(easy, option, value) == CURLE_OK }

  private func string(_ option: CURLoption, _ value: String?) -> Bool {
    ccurl_set_string(easy, option, value) == CURLE_OK
  }

  private func pointer(_ option: CURLoption, _ value: UnsafeRawPointer?) -> Bool {
    ccurl_set_pointer(easy, option, value) == CURLE_OK
  }
}
