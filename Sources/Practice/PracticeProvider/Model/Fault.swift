public import LoopbackHTTP

/// A fault for one request or several at one path.
public struct Fault: Sendable {
  public enum Effect: Sendable {
    /// This response; the request is not processed.
    case answer(HTTPResponse)
    /// The request is processed, and then this is the response: the client cannot know that it was.
    case answerAfterProcessing(HTTPResponse)
    /// The connection ends before the request is processed.
    case dropBeforeProcessing
    /// The request is processed, and the response is lost.
    case dropAfterProcessing
    case hangBeforeProcessing
    case hangAfterProcessing
    /// The request is not processed; the response has a body without an end.
    case endlessBody
    /// The request is processed; that many spaces follow the response's JSON.
    case hugeBody(bytes: Int)
    /// The request is processed; the head announces more than is sent.
    case truncatedBody(bytes: Int)
    /// A 200 with a page for people; the request is not processed: a captive portal, a proxy.
    case notJSON
    /// The normal response; for a delay alone.
    case none
    /// Changes members of the normal JSON response; null removes one.
    case changeAnswer([String: PracticeJSON])
    /// Changes members of the ID token before it is signed, or spoils its signature.
    case changeIDToken([String: PracticeJSON], signature: IDTokenSignature = .good)
  }

  public enum IDTokenSignature: String, Sendable, Codable {
    case good
    /// One byte of the signature differs.
    case broken
    /// `alg: none` and no signature.
    case unsigned
    /// Signed by a key that is not published, under the id of one that is.
    case impostor
    /// Signed by a key whose id is not published.
    case unknownKey
  }

  public var effect: Effect
  public var delayMilliseconds: Int
  /// The number of requests that it affects; nil: all, until the faults are cleared.
  public var count: Int?
  /// Affects only requests whose form or query has all of these members.
  public var matching: [String: String]

  public init(_ effect: Effect, delayMilliseconds: Int = 0, count: Int? = 1, matching: [String: String] = [:]) {
    self.effect = effect
    self.delayMilliseconds = delayMilliseconds
    self.count = count
    self.matching = matching
  }

  /// A status with this body, unchanged.
  public static func status(
    _ status: Int,
    _ body: String = "",
    headers: [(name: String, value: String)] = [("Content-Type", "application/json")],
    count: Int? = 1
  ) -> Fault {
    Fault(.answer(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))), count: count)
  }

  /// An OAuth error (RFC 6749 section 5.2).
  public static func error(_ code: String, status: Int = 400, description: String? = nil, count: Int? = 1) -> Fault {
    Fault(.answer(.oauthError(code, status: status, description: description)), count: count)
  }

  public static func delay(milliseconds: Int, count: Int? = 1) -> Fault {
    Fault(.none, delayMilliseconds: milliseconds, count: count)
  }
}

/// The queued faults, in order.
struct FaultQueue: Sendable {
  private var waiting: [(path: String, fault: Fault)] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ fault: Fault, path: String) {
    if (fault.count ?? 1) > 0 { waiting.append((path, fault)) }
  }

  /// The first queued fault that applies to the request; counts one use.
  mutating func take(path: String, members: [(name: String, value: String)]) -> Fault? {
    let place = waiting.firstIndex { entry in
      entry.path == path
        && entry.fault.matching.allSatisfy { name, value in members.contains { $0 == (name, value) } }
    }
    guard let place else { return nil }
    let fault = waiting[place].fault
    if let count = fault.count {
      if count > 1 { waiting[place].fault.count = count - 1 } else { waiting.remove(at: place) }
    }
    return fault
  }

  mutating func removeAll(path: String? = nil) {
    waiting.removeAll { path == nil || $0.path == path }
  }
}
