internal import AgentModel
internal import AgentPorts
internal import Secrets

/// A request that passed all checks, in the form that libcurl takes.
struct TransferPlan: Sendable {
  let url: HTTPURL
  let method: String
  let fields: HeaderLines
  /// Sent with a `Content-Length`, also when it is empty; nil for methods without a body.
  let body: Secret?
  let connectTimeout: Int
  let timeout: Int
  let maximumResponseBytes: Int
  /// The response's body is decoded; false where the request names encodings itself.
  let isDecoded: Bool
  let memory: MemoryBudget?
  let isForLimitedCaller: Bool
  /// In libcurl's spelling: `sha256//…;sha256//…`.
  let pins: String?
  let authorities: CertificateAuthorities
  let proxy: String?
  let reuse: ConnectionReuse?
  /// Ends once the connection stands: only the server's key is wanted.
  let readsServerKey: Bool
  /// The certificates of `authorities.file`; nil if libcurl reads the file.
  var certificates: [UInt8]?

  /// Why a request is refused before anything is sent.
  struct Refusal: Error { let outcome: HTTPOutcome }

  static func make(
    _ request: HTTPRequest, _ defaults: ConnectionDefaults, readsServerKey: Bool = false
  ) -> Result<TransferPlan, Refusal> {
    // Requests carry tokens: plain `http` never leaves this machine, wherever the URL came from.
    guard let url = request.parsedURL ?? HTTPURL(request.url), url.scheme == .https || url.isLoopback else {
      return .failure(Refusal(outcome: .notConnected(.invalidURL)))
    }
    guard let fields = HeaderLines(request.fields), FieldSyntax.isToken(request.method), request.method != "CONNECT"
    else { return .failure(Refusal(outcome: .notConnected(.other))) }
    var pins: String?
    if !request.pins.isEmpty {
      // An unreadable pin matches nothing, and plain text proves no key: neither may count as "no pin".
      pins = request.pins.filter(isPin).map { "sha256//" + $0.dropFirst("sha256/".count) }.joined(separator: ";")
      guard url.scheme == .https, pins?.isEmpty == false else {
        return .failure(Refusal(outcome: .untrusted(.pinMismatch)))
      }
    }
    // RFC 9110 §8.6: a method that anticipates content sends its length even if that is 0.
    let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? Secret(text: "") : nil)
    return .success(
      TransferPlan(
        url: url, method: request.method, fields: fields, body: body,
        connectTimeout: milliseconds(request.connectTimeout), timeout: milliseconds(request.timeout),
        maximumResponseBytes: max(request.maximumResponseBytes, 0),
        isDecoded: !request.fields.contains { HTTPField.isName($0.name, "accept-encoding") },
        memory: request.memory, isForLimitedCaller: request.isForLimitedCaller, pins: pins,
        authorities: defaults.authorities(for: request.certificateAuthorities),
        proxy: defaults.enforcesProxy ? defaults.proxy : request.proxy ?? defaults.proxy,
        reuse: request.beforeSending == nil && !readsServerKey ? request.reuse : nil, readsServerKey: readsServerKey))
  }

  /// libcurl reads 0 as no timeout, and a negative number would become 0.
  private static func milliseconds(_ time: Milliseconds) -> Int { Int(min(max(time.count, 1), 86_400_000)) }

  /// `sha256/` and the base64 of 32 bytes (RFC 7469 §2.4). libcurl would take any other text for a file name.
  private static func isPin(_ pin: String) -> Bool {
    let digest = pin.utf8.dropFirst("sha256/".utf8.count)
    return pin.hasPrefix("sha256/") && digest.count == 44 && digest.last == UInt8(ascii: "=")
      && digest.dropLast().allSatisfy { FieldSyntax.isAlphanumeric($0) || $0 == 0x2B || $0 == 0x2F }
  }
}
