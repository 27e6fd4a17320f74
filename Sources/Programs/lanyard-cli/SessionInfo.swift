import CommandSupport
import JSONRPC

/// The answer of `session.get`.
struct SessionInfo {
  let state: String
  let since: Moment?
  let remedies: [String]
  let freshness: String
  let expiresAt: Moment?
  let refreshExpiresAt: Moment?
  let lastOnline: Moment?
  let offlineGraceUntil: Moment?
  let stepUpValidUntil: Moment?
  /// The time of the provider, on which all of these stand.
  let now: Moment
  private let clock: String
  private let clockBehindSeconds: Int?
  /// The time of the provider minus this machine's; nil while the provider has not told its time since the boot.
  private let clockOffsetMilliseconds: Int?
  let scopes: [String]
  let lostScopes: [String]
  /// The types of the rights in detail that the provider granted.
  let detailTypes: [String]
  let refreshPhase: String
  let nextAttempt: Moment?
  let lastError: String?
  let lastErrorAt: Moment?
  private let lastErrorReason: String?
  let deviceKeyID: String?
  let tokenBinding: String?
  /// The agent's JSON, for `--json`.
  let json: String

  init(_ node: JSONNode) {
    func moment(_ node: JSONNode?) -> Moment? { node?.string.flatMap { Moment($0) } }
    state = node["state"]?.string ?? ""
    since = moment(node["since"])
    remedies = node["remedies"]?.elements.compactMap(\.string) ?? []
    freshness = node["freshness"]?.string ?? ""
    expiresAt = moment(node["accessTokenExpiresAt"])
    refreshExpiresAt = moment(node["refreshTokenExpiresAt"])
    lastOnline = moment(node["lastOnlineAuthAt"])
    offlineGraceUntil = moment(node["offlineGraceUntil"])
    stepUpValidUntil = moment(node["stepUpValidUntil"])
    clockOffsetMilliseconds = node["serverTimeOffsetMs"]?.integer.map { Int($0) }
    clock = node["clock"]?.string ?? ""
    clockBehindSeconds = node["clockBehindSeconds"]?.integer.map { Int($0) }
    // Without the provider's time, the agent counts by what was known before.
    now = Moment.now(offsetMilliseconds: clockOffsetMilliseconds ?? (clockBehindSeconds ?? 0) * 1000)
    scopes = node["scopes"].map { $0.elements.compactMap(\.string) } ?? []
    lostScopes = node["lostScopes"].map { $0.elements.compactMap(\.string) } ?? []
    detailTypes = node["authorizationDetails"].map { $0.elements.compactMap { $0["type"]?.string } } ?? []
    refreshPhase = node["refresh"]?["phase"]?.string ?? "idle"
    nextAttempt = moment(node["refresh"]?["nextAttemptAt"])
    lastError = node["refresh"]?["lastError"]?["name"]?.string
    lastErrorAt = moment(node["refresh"]?["lastError"]?["at"])
    lastErrorReason = node["refresh"]?["lastError"]?["reason"]?.string
    deviceKeyID = node["deviceKeyId"]?.string
    tokenBinding = node["tokenBinding"]?.string
    json = node.text
  }

  /// The time of the account's provider, to which instants of answers about the account are relative; this machine's if
  /// the session can't be read.
  static func now(of account: String, via agent: inout AgentConnection) -> Moment {
    (try? agent.call("session.get", params: { $0.member("account", account) }, result: { SessionInfo($0).now })) ?? .now
  }

  /// The account has ended or is disabled: nothing but what a person does brings it back.
  private var isOver: Bool { ["reauthenticationRequired", "locked", "signedOut"].contains(state) }

  /// Freshness and expiry of the account's token, for a person.
  func tokenWords(of account: AccountInfo) -> String {
    // The agent names an end to programs, also where no end of the key is known.
    let isKey = account.kind == "secret"
    let end = isKey ? account.keyEndsAt : expiresAt
    // A key ends by this machine's clock while its provider has told no time.
    let now = isKey && clockOffsetMilliseconds == nil ? Moment.now : self.now
    let lives = end.map { $0 > now } ?? false
    let expiry =
      end.map { ", \(lives ? "expires" : "expired") \($0.relative(to: now))" } ?? (isKey ? ", no end is known" : "")
    if isOver {
      guard lives, !isKey, let end else { return "none is served" }
      return "served until it expires \(end.relative(to: now)), and not refreshed"
    }
    return switch freshness {
    case "fresh": "fresh\(expiry)"
    case "stale": "to be refreshed soon\(expiry)"
    case "expired": "expired" + whatTheNextRequestDoes("refreshes it")
    case "none": "none in memory" + whatTheNextRequestDoes("gets one")
    default: "\(freshness)\(expiry)"
    }
  }

  /// Empty while one is under way, and where a person has to do something first.
  private func whatTheNextRequestDoes(_ usually: String) -> String {
    guard refreshPhase == "idle" else { return "" }
    return switch state {
    case "active": ": the next request \(usually)"
    case "offlineStale": ": the next request tries again"
    default: ""
    }
  }

  /// "in 4 min", "3 h ago", "now".
  func words(_ moment: Moment) -> String { moment.relative(to: now) }

  /// Honest clocks differ by less.
  private static let notableMilliseconds = 120_000

  /// The difference of the clocks where the provider told its time, for a person; nil if they agree.
  var clockWords: String? {
    guard clock != "suspect", let offset = clockOffsetMilliseconds, offset.magnitude > Self.notableMilliseconds else {
      return nil
    }
    let side = offset > 0 ? "behind" : "ahead of"
    // Rounded: what is told as three days should not be 71 hours.
    let distance = Moment.spelledOut(Int((offset.magnitude + 500) / 1000))
    return "this machine's is \(distance) \(side) the provider's, by which the times here are"
  }

  /// That the clock was set back, for a person; nil if it was not.
  var suspicionWords: String? {
    guard clock == "suspect" else { return nil }
    let distance = clockBehindSeconds.map { Moment.spelledOut($0) + " " } ?? ""
    let known = clockOffsetMilliseconds == nil ? "the time that was known before" : "the time of the provider"
    return "suspect: \(distance)behind \(known); set this machine's clock"
  }

  /// The end of the longest offline window that the policy gives the account as it is; nil without one.
  var offlineWords: String? {
    offlineGraceUntil.map {
      $0 > now ? "\($0.local) (\(words($0))), by the policy" : "ended \($0.local)"
    }
  }

  /// Whether the tokens are bound to a key, for a person; nil for bearer tokens.
  var bindingWords: String? {
    if tokenBinding == "downgraded" {
      return "no longer: the provider's last answer brought a bearer token. `lanyard doctor` says what to do"
    }
    return deviceKeyID.map { "to a key of this agent, \($0)" }
  }

  /// The refresh that failed, and none has succeeded since.
  private var lastFailureWords: String? {
    let when = lastErrorAt.map { " " + words($0) } ?? ""
    return lastError.map { "the last one failed\(when) (\(Text.words($0)))" }
  }

  /// The provider answered the refresh that failed last.
  private var isAnswered: Bool {
    guard let lastErrorReason else { return false }
    return lastErrorReason.hasPrefix("status")
      || ["unreadableAnswer", "tooLarge", "malformed"].contains(lastErrorReason)
  }

  /// The running or waiting refresh, for a person; nil when there is none.
  var refreshWords: String? {
    let error = lastError.map { " after an error (\(Text.words($0)))" } ?? ""
    return switch refreshPhase {
    case "idle": isOver ? nil : lastFailureWords
    case "inFlight": "being refreshed"
    case "inDoubt":
      (isAnswered
        ? "the provider's answer to the last one leaves open whether it took the token"
        : "no answer came to the last one, so its outcome is unknown")
        + (nextAttempt.map { "; sent once more \(words($0)) or later" } ?? "")
    case "backoff": "waits\(error), tries again \(nextAttempt.map(words) ?? "later")"
    default: refreshPhase
    }
  }
}
