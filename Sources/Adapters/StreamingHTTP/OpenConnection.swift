public import AgentModel
internal import CCurl
internal import CurlTransfers
internal import Glibc
internal import Threads

/// A connection whose user decides what goes over it: the bytes of another program that passes, or a WebSocket. libcurl opens
/// it, through a proxy where one counts, and speaks TLS where that is wanted. One thread uses it.
public final class OpenConnection {
  /// Why there is no connection.
  public enum Failure: Error, Hashable, Sendable {
    case notReached(HTTPResult.NotSent)
    /// No address of the host is public, or not each one, where another proxy chooses among them.
    case notPublic
  }

  /// The connection leads to a proxy of HTTP: the line of a request names the whole URL.
  public let leadsToProxy: Bool
  /// The value of `Proxy-Authorization` for that proxy.
  public let proxyCredentials: String?
  public let socket: Int32
  /// The bytes go through TLS that libcurl speaks: to the server, or to a proxy.
  let isWrapped: Bool
  private let multi: UnsafeMutableRawPointer
  private let easy: UnsafeMutableRawPointer
  /// Owns `easy`, where a request's own rules open the connection.
  private let handle: EasyHandle?

  /// Opens a connection to the server of a URL, under the rules for requests with a token: `https`, or `http` on loopback.
  ///
  /// - Parameter milliseconds: for name, connection and TLS together.
  public init(
    for url: HTTPURL, trust: TrustSettings, milliseconds: Int = 10_000, cancellation: HTTPCancellation
  ) throws(Failure) {
    guard ccurl_open(), let multi = ccurl_multi_init() else { throw .notReached(.noLibrary) }
    let transfer: TransferRequest
    do throws(TransferRequest.Refusal) {
      transfer = try TransferRequest("GET", url, HeaderList([], in: WipedBytes.self), .none, trust)
    } catch {
      ccurl_multi_cleanup(multi)
      throw .notReached(error == .pinMismatch ? .untrusted(.pinMismatch) : .invalid)
    }
    let rule = ConnectionRule(connectMilliseconds: milliseconds, longestIdleSeconds: nil)
    // libcurl closes a connection that is not to be reused as soon as it is open.
    guard let handle = EasyHandle(transfer, rule, NoTransfer()), handle.number(CURLOPT_CONNECT_ONLY, 1),
      handle.number(CURLOPT_FORBID_REUSE, 0), ccurl_multi_add_handle(multi, handle.easy) == CURLM_OK
    else {
      ccurl_multi_cleanup(multi)
      throw .notReached(.notConnected(.other))
    }
    (self.multi, easy, self.handle) = (multi, handle.easy, handle)
    (leadsToProxy, proxyCredentials, isWrapped) = (false, nil, url.scheme == .https)
    let code = Self.connect(multi, cancellation)
    socket = code == CURLE_OK ? ccurl_active_socket(handle.easy) : -1
    guard socket >= 0 else {
      throw .notReached(cancellation.isCancelled ? .cancelled : handle.failure(code)?.notSent ?? .notConnected(.other))
    }
  }

  /// Opens a connection for the bytes of another program.
  ///
  /// - Parameters:
  ///   - origin: of the server.
  ///   - isTunnel: the program speaks TLS or whatever it wants; false: requests of plain HTTP, which a proxy forwards.
  ///   - isPublic: no address is connected to that is not public. A proxy looks the name up by itself: then the addresses
  ///     that this machine finds for it have to be public (`HostLookup`).
  ///   - milliseconds: for the name and the connection together.
  public init(
    to origin: HTTPURL, isTunnel: Bool, isPublic: Bool, trust: TrustSettings, milliseconds: Int = 10_000,
    cancellation: HTTPCancellation
  ) throws(Failure) {
    let proxy = trust.proxy(to: origin) { name in getenv(name).map { String(cString: $0) } }
    if isPublic, proxy != nil, HostLookup.hasSpecialAddress(origin.host) { throw .notPublic }
    guard ccurl_open(), let multi = ccurl_multi_init(), let easy = ccurl_easy_init() else {
      throw .notReached(.noLibrary)
    }
    let isWrapped = proxy?.hasPrefix("https:") ?? false
    let isOfHTTP = proxy.map { isWrapped || $0.hasPrefix("http:") || !$0.contains("://") } ?? false
    leadsToProxy = !isTunnel && isOfHTTP
    proxyCredentials = leadsToProxy ? proxy.flatMap { Self.credentials($0) } : nil
    self.isWrapped = isWrapped
    (self.multi, self.easy, handle) = (multi, easy, nil)
    // libcurl's own scheme for a connection without TLS: no byte of HTTP is sent.
    let url = leadsToProxy ? proxy! : "http://\(origin.hostText):\(origin.port)/"
    let isChosen =
      Self.set(easy, CURLOPT_URL, url) && Self.set(easy, CURLOPT_PROXY, leadsToProxy ? "" : proxy ?? "")
      && Self.set(easy, CURLOPT_NOPROXY, "") && Self.set(easy, CURLOPT_CONNECT_ONLY, 1)
      && Self.set(easy, CURLOPT_HTTPPROXYTUNNEL, 1) && Self.set(easy, CURLOPT_NOSIGNAL, 1)
      && Self.set(easy, CURLOPT_NETRC, 0) && Self.set(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
      && Self.set(easy, CURLOPT_FRESH_CONNECT, 1) && Self.set(easy, CURLOPT_TCP_KEEPALIVE, 1)
    let checks = isPublic && proxy == nil
    guard isChosen, !checks || ccurl_set_may_connect(easy, Self.mayConnect) == CURLE_OK,
      ccurl_multi_add_handle(multi, easy) == CURLM_OK
    else {
      socket = -1
      throw .notReached(.notConnected(.other))
    }
    let code = Self.connect(multi, cancellation)
    guard code == CURLE_OK else {
      socket = -1
      guard !cancellation.isCancelled else { throw .notReached(.cancelled) }
      let errno = Int32(truncatingIfNeeded: ccurl_get_long(easy, CURLINFO_OS_ERRNO))
      let failure = TransferReport(
        code, errno: errno, verification: 0, text: "",
        proxy: proxy.flatMap { leadsToProxy ? nil : TransferReport.Proxy($0, told: easy) }
      ).notSent
      // No connect failed, since none was tried.
      throw checks && code == CURLE_COULDNT_CONNECT && errno == 0 ? .notPublic : .notReached(failure)
    }
    socket = ccurl_active_socket(easy)
    guard socket >= 0 else { throw .notReached(.notConnected(.other)) }
  }

  deinit {
    _ = ccurl_multi_remove_handle(multi, easy)
    if handle == nil { ccurl_easy_cleanup(easy) }
    ccurl_multi_cleanup(multi)
  }

  /// What a reading or writing came to.
  public enum Progress { case bytes(Int), later, end, failed }

  public func read(into memory: UnsafeMutableRawBufferPointer) -> Progress {
    var count = 0
    switch ccurl_receive_bytes(easy, memory.baseAddress, memory.count, &count) {
    case CURLE_OK: return count > 0 ? .bytes(count) : .end
    case CURLE_AGAIN: return .later
    default: return .failed
    }
  }

  public func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
    var count = 0
    switch ccurl_send_bytes(easy, bytes.baseAddress, bytes.count, &count) {
    case CURLE_OK: return .bytes(count)
    case CURLE_AGAIN: return .later
    default: return .failed
    }
  }

  /// Sends all bytes. False if the connection ends, or takes nothing for so long.
  public func send(_ bytes: UnsafeRawBufferPointer, milliseconds: Int = 60_000) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch write(UnsafeRawBufferPointer(rebasing: rest)) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .later: guard wait(POLLOUT, milliseconds: milliseconds) else { return false }
      case .end, .failed: return false
      }
    }
    return true
  }

  public func send(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { send($0) } }
  public func send(_ bytes: WipedBytes) -> Bool { bytes.withBytes { send($0) } }

  /// False after so long.
  public func wait(_ events: Int32, milliseconds: Int) -> Bool {
    var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
    return poll(&entry, 1, Int32(clamping: milliseconds)) > 0
  }

  private static let mayConnect: ccurl_may_connect = { address, count in
    PublicAddress.isPublic(Array(UnsafeBufferPointer(start: address, count: count)))
  }

  private static func connect(_ multi: UnsafeMutableRawPointer, _ cancellation: HTTPCancellation) -> CURLcode {
    let wakeUp = WakeUp()
    cancellation.attach(wakeUp)
    defer { cancellation.attach(nil) }
    while !cancellation.isCancelled {
      _ = ccurl_multi_perform(multi)
      var code = CURLE_OK
      if ccurl_multi_next_done(multi, &code) != nil { return code }
      if ccurl_multi_poll(multi, wakeUp.descriptor, longestWaitMilliseconds) { wakeUp.clear() }
    }
    return CURLE_ABORTED_BY_CALLBACK
  }

  /// libcurl's own timers end a wait earlier.
  private static let longestWaitMilliseconds: Int32 = 60_000

  private static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: Int) -> Bool {
    ccurl_set_long(easy, option, value) == CURLE_OK
  }

  private static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: String) -> Bool {
    ccurl_set_string(easy, option, value) == CURLE_OK
  }

  /// RFC 7617, for the user information of an address in the environment.
  private static func credentials(_ proxy: String) -> String? {
    let rest = proxy.firstRange(of: "://").map { proxy[$0.upperBound...] } ?? proxy[...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let at = authority.lastIndex(of: "@") else { return nil }
    let user = authority[..<at].utf8
    var text = PercentCoding.decode(user) ?? String(authority[..<at])
    return text.withUTF8 { "Basic " + Base64.encode(UnsafeRawBufferPointer($0)) }
  }
}

/// For a connection on which libcurl sends no request.
private final class NoTransfer: TransferReceiver {
  func opened(_ socket: Int32) {}
  func aboutToSend(_ handle: EasyHandle, on ends: ConnectionSockets.Ends) -> Bool { true }
  func receive(header line: UnsafeRawBufferPointer) -> Bool { false }
  func receive(body bytes: UnsafeRawBufferPointer) -> BodyReceipt { .refused }
}
