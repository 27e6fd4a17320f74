import Foundation
public import LoopbackHTTP

/// A practice provider on a port of this machine.
///
///     let server = try PracticeServer()
///     defer { server.stop() }
///     print(server.issuer)  // http://127.0.0.1:41873
public final class PracticeServer: Sendable {
  /// Requests to a provider are shorter; a request to `/protected` may carry more.
  static let maximumBodyBytes = 1 << 20

  public let provider: PracticeProvider
  private let listener: LoopbackListener

  public var issuer: String { provider.issuer }
  public var port: UInt16 { listener.port }

  /// - Parameters:
  ///   - port: 0 lets the system choose.
  ///   - path: the part of the issuer after host and port, such as `/realms/acme`.
  ///   - now: wall clock in milliseconds; the system's by default.
  public init(
    host: String = "127.0.0.1",
    port: UInt16 = 0,
    path: String = "",
    options: PracticeOptions = PracticeOptions(),
    now: @escaping @Sendable () -> Int64 = PracticeServer.systemClock,
    random: @escaping @Sendable (Int) -> [UInt8] = PracticeServer.systemRandom
  ) throws(LoopbackError) {
    var made: PracticeProvider?
    listener = try LoopbackListener(
      host: host,
      port: port,
      maximumBodyBytes: Self.maximumBodyBytes,
      handlerForPort: { port in
        let urlHost = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let issuer = "http://\(urlHost):\(port)\(path)"
        let provider = PracticeProvider(issuer: issuer, options: options, now: now, random: random)
        made = provider
        return { provider.handle($0) }
      }
    )
    guard let made else { preconditionFailure("the listener asked for no handler") }
    provider = made
  }

  /// Closes the port and every connection.
  public func stop() { listener.stop() }

  public static let systemClock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

  public static let systemRandom: @Sendable (Int) -> [UInt8] = { count in
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}
