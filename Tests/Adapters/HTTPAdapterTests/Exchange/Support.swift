import AgentModel
import AgentPorts
import Foundation
import Secrets
import Synchronization

import HTTPAdapter

/// A clock that advances one millisecond at each reading and records the reading threads.
final class CountingClock: AgentClock {
  let bootID = "test"
  private let state = Mutex<(now: Int64, threads: [String])>((0, []))

  /// The threads that read boot time, in order, named as below `/proc`.
  var threads: [String] { state.withLock { $0.threads } }

  func wall() -> Timestamp { Timestamp(milliseconds: 0) }
  func boot() -> BootInstant {
    state.withLock { state in
      state.now += 1
      state.threads.append((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "")
      return BootInstant(milliseconds: state.now)
    }
  }
  func sleep(until deadline: BootInstant) async {}
}

/// The environment of every test in this process: a proxy that refuses everything. Set once, before libcurl reads
/// it, since `setenv` is not safe beside a reader.
enum ProxyEnvironment {
  static let proxy: RawServer = {
    let proxy = RawServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    for name in ["http_proxy", "https_proxy", "all_proxy"] { setenv(name, proxy.url, 1) }
    setenv("no_proxy", "direct.invalid,255.255.255.255", 1)
    return proxy
  }()
}

func makeExchange(
  clock: any AgentClock = CountingClock(), certificateAuthorities: String? = nil
) -> CurlExchange {
  _ = ProxyEnvironment.proxy
  return CurlExchange(
    clock: clock, defaults: ConnectionDefaults(authorities: CertificateAuthorities(file: certificateAuthorities)))
}

/// A GET request with limits generous enough for a busy machine.
func get(_ url: String, maximumResponseBytes: Int = 1 << 20, pins: [String] = []) -> HTTPRequest {
  HTTPRequest(method: "GET", url: url, maximumResponseBytes: maximumResponseBytes, pins: pins)
}

extension HTTPOutcome {
  /// `200 body`, `notConnected refused`, `unknown reset`, `untrusted`: the text that a test compares.
  var summary: String {
    switch self {
    case .response(let response): "\(response.status) \(response.text)"
    case .notConnected(let failure): "notConnected \(failure.word)"
    case .untrusted(let reason): "untrusted \(reason)"
    case .unknown(let lost, _): "unknown \(lost)"
    }
  }

  /// The body so far of a response that was cut.
  var partialText: String? {
    guard case .unknown(_, partial: let partial?) = self else { return nil }
    return partial.text
  }

  var proxyFailure: ProxyFailure? {
    guard case .notConnected(.proxy(let failure)) = self else { return nil }
    return failure
  }

  var response: HTTPResponse? {
    guard case .response(let response) = self else { return nil }
    return response
  }
}

extension HTTPResponse {
  var text: String { body.withBytes { String(decoding: $0, as: UTF8.self) } }
}
