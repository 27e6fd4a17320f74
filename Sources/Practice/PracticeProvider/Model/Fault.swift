public import LoopbackHTTP

/// Something that goes wrong, once or several times, at one path.
public struct Fault: Sendable {
  public enum Effect: Sendable {
    /// This answer, and nothing is done.
    case answer(HTTPResponse)
    /// Everything is done, and then this is the answer: the client cannot know.
    case answerAfterProcessing(HTTPResponse)
    /// The connection ends before anything is done.
    case dropBeforeProcessing
    /// Everything is done, and the answer is lost.
    case dropAfterProcessing
    case hangBeforeProcessing
    case hangAfterProcessing
    /// Nothing is done; a body without an end.
    case endlessBody
    /// Everything is done; the answer's JSON is followed by that many spaces.
    case hugeBody(bytes: Int)
    /// Everything is done; the head announces more than is sent.
    case truncatedBody(bytes: Int)
    /// A 200 with a page for people, and nothing is done: a captive portal, a proxy.
    case notJSON
    /// The true answer; for a delay alone.
    case none
    /// Members of the true JSON answer are changed; null removes one.
    case changeAnswer([String: PracticeJSON])
    /// Members of the ID token are changed before it is signed, or its signature is not what it should be.
    case changeIDToken([String: PracticeJSON], signature: IDTokenSignature = .good)
  }

  public enum IDTokenSignature: String, Sendable, Codable {
    case good
    /// One byte differs.
    case broken
    /// `alg: none` and no signature.
    case unsigned
    /// By a key that is not the published one, under its id.
    case impostor
    /// By a key whose id nobody published.
    case unknownKey
  }

  public var effect: Effect
  public var delayMilliseconds: Int
  /// How many requests it meets; nil: all, until the faults are cleared.
  public var count: Int?
  /// It meets only requests whose form or query has all of these members.
  public var matching: [String: String]

  public init(_ effect: Effect, delayMilliseconds: Int = 0, count: Int? = 1, matching: [String: String] = [:]) {
    self.effect = effect
    self.delayMilliseconds = delayMilliseconds
    self.count = count
    self.matching = matching
  }

  /// A status with a body as it is sent.
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

/// The faults that wait, in order.
struct FaultQueue: Sendable {
  private var waiting: [(path: String, fault: Fault)] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ fault: Fault, path: String) {
    if (fault.count ?? 1) > 0 { waiting.append((path, fault)) }
  }

  /// The first fault that waits for such a request, used up by one.
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
