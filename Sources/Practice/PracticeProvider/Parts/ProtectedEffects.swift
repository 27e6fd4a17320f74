import LoopbackHTTP

/// The effects of unsafe requests at `/protected`. The same `Idempotency-Key` has one effect.
struct ProtectedEffects: Sendable {
  private(set) var count: Int64 = 0
  private var byKey: [String: Int64] = [:]

  /// The number of the effect, from 1; 0 for a safe method.
  mutating func perform(_ request: HTTPRequest) -> Int64 {
    guard !["GET", "HEAD", "OPTIONS"].contains(request.method) else { return 0 }
    let key = request.header("Idempotency-Key")
    if let key, let earlier = byKey[key] { return earlier }
    count += 1
    if let key { byKey[key] = count }
    return count
  }
}
