internal import AgentPorts
internal import CCurl
internal import CurlTransfers
internal import Threads

/// libcurl's handle for one transfer. Only the loop's thread uses it.
final class TransferHandle {
  let transfer: Transfer
  private let handle: EasyHandle
  /// What the transfer had received when the loop last looked at it after its time was up.
  var overdue: (receivedBytes: Int, since: MonotonicTime)?

  /// Nil if libcurl cannot do what the plan asks; nothing is sent then.
  init?(_ transfer: Transfer) {
    let plan = transfer.plan
    var rule = ConnectionRule(
      connectMilliseconds: plan.connectTimeout,
      longestIdleSeconds: plan.reuse.map {
        $0.isRepeatable ? CurlLoop.longestIdleSeconds : CurlLoop.longestIdleSecondsBeforeWrites
      })
    rule.mayReuse = transfer.mayReuse
    guard let handle = EasyHandle(plan.request, rule, transfer) else { return nil }
    self.transfer = transfer
    self.handle = handle
    // A response that announces too much is refused early. One to HEAD announces a length without a body.
    let announced = plan.request.method == "HEAD" ? 0 : plan.maximumResponseBytes
    guard ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(announced)) == CURLE_OK,
      !transfer.isDecoded || handle.string(CURLOPT_ACCEPT_ENCODING, "gzip, deflate"),
      !plan.readsServerKey || handle.number(CURLOPT_CONNECT_ONLY, 1) && handle.number(CURLOPT_CERTINFO, 1)
    else { return nil }
  }

  var easy: UnsafeMutableRawPointer { handle.easy }
  func failure(_ code: CURLcode) -> TransferReport? { handle.failure(code) }
  func resume() { handle.resume() }

  /// The pin of the server's key, once the handshake of a plan that wants it has succeeded.
  var serverKey: String? {
    guard transfer.plan.readsServerKey, let text = ccurl_get_certificate(easy) else { return nil }
    return CertificateKey.pin(ofPEM: String(cString: text))
  }
}
