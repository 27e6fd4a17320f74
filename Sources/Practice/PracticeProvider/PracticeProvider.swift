public import LoopbackHTTP
import Synchronization

/// An OpenID provider that behaves like a real one, and fails on demand.
///
/// It has no socket, clock or randomness of its own: `handle` turns a request into a reply, so the same provider works
/// in a simulation with virtual time and behind a listener (`PracticeServer`). The same random bytes and the same clock
/// give the same tokens, except that ES256 signatures differ each time.
///
///     let idp = PracticeProvider(issuer: "https://idp.test", now: { clock.now }, random: { seeded.bytes($0) })
///     let tokens = try idp.signIn(user: "alice")
///     idp.enqueueFault("/token", Fault(.dropAfterProcessing))
///     idp.handle(.postForm("/token", [("grant_type", "refresh_token"), …]))  // .drop: done, and the answer is lost
public final class PracticeProvider: Sendable {
  public let issuer: String
  private let clock: @Sendable () -> Int64
  private let state: Mutex<ProviderState>

  /// - Parameters:
  ///   - issuer: the identifier, with or without a path, as `http://127.0.0.1:8080` or `https://idp.test/realms/acme`.
  ///   - now: wall clock in milliseconds since 1970.
  ///   - random: returns that many unpredictable bytes.
  public init(
    issuer: String,
    options: PracticeOptions = PracticeOptions(),
    now: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    let state = ProviderState(issuer: issuer, options: options, random: random)
    self.issuer = state.context.issuer.identifier
    clock = now
    self.state = Mutex(state)
  }

  /// Answers one request, or applies a queued fault to it.
  public func handle(_ request: HTTPRequest) -> HTTPReply {
    withState { $0.reply(to: request) }
  }

  /// All access to the state goes through here, which sets the clock first.
  package func withState<Result>(_ body: (inout sending ProviderState) throws -> sending Result) rethrows
    -> sending Result
  {
    try state.withLock { state in
      state.context.now = clock() + state.context.options.clockOffsetMilliseconds
      return try body(&state)
    }
  }
}
