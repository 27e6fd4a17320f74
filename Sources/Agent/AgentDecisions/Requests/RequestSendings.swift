internal import AgentCore
internal import AgentModel
internal import AgentOAuth
internal import AgentPermissions
internal import AgentPorts
internal import AgentRecords
internal import AgentSessions
internal import AgentStore
internal import Secrets

/// Makes the sendings of one request, one for each time that it leaves, and judges how each of them ended. Waits for
/// nothing.
struct RequestSendings: Sendable {
  /// How long a response may take if the request names no time. Long enough for a slow report.
  private static let longestResponse = Milliseconds.seconds(60)
  private static let longestConnect = Milliseconds.seconds(10)

  /// A request that is ready to leave.
  struct Sending: Sendable {
    var request: HTTPRequest
    fileprivate var url: HTTPURL
    fileprivate var authorization: RequestAuthorization
    fileprivate var credential: AccessCredential
    fileprivate var proofs: ProofIssuer
  }

  /// A response that can be passed on.
  struct Received: Sendable {
    var response: HTTPResponse
    var fields: ResponseFields
    /// Of the server, if another one than the request had in its proof.
    var nonce: String?
  }

  private let account: Account
  private let request: ResourceRequest
  /// Of the whole request.
  let deadline: BootInstant?
  /// Throws if the caller may not send any more.
  private let requireAllowed: @Sendable () throws(AgentFailure) -> Void

  private var dependencies: AccountDependencies { account.dependencies }

  init(
    _ request: ResourceRequest, of account: Account, deadline: BootInstant?,
    requireAllowed: @escaping @Sendable () throws(AgentFailure) -> Void
  ) {
    self.account = account
    self.request = request
    self.deadline = deadline
    self.requireAllowed = requireAllowed
  }

  /// The request's target, if the provider allows its origin and the names in the whole request.
  func target(by route: RequestRoutes.Route) throws(AgentFailure) -> RequestTarget {
    try request.fields.check(
      request.body, by: route.names, isOfLimitedCaller: request.isOfLimitedCaller)
    do throws(RequestTarget.Refusal) {
      return try RequestTarget(request.url, allowedOrigins: route.origins, names: route.names)
    } catch {
      throw error.failure(of: account.id, at: "/url")
    }
  }

  /// The request as it leaves now: to the machine's target, if the provider still allows its origin.
  func make(
    _ machine: RequestMachine, _ token: RequestToken, nonce: String?, by route: RequestRoutes.Route
  ) throws(AgentFailure) -> Sending {
    let url = machine.target.url
    guard route.origins.contains(url.origin) else { throw .originNotAllowed(account.id) }
    guard let left = timeLeft() else { throw .timedOut(account.id) }
    try requireAllowed()
    let client = dependencies.client(of: route.provider)
    let proofs = client.proofs
    guard let authorization = proofs.authorization(by: token.credential, for: request.method, url, nonce: nonce) else {
      throw .request(.notSent(.other), account.id, isRepeatable: true)
    }
    let told = request.fields.outgoing(by: route.names, isSearched: !request.showsToken)
    var outgoing = httpRequest(
      to: url, told.map { HTTPField($0.name, $0.value) }, by: client, within: left,
      isRepeatable: machine.isRead && !authorization.hasProof)
    authorization.authorize(&outgoing)
    return Sending(
      request: outgoing, url: url, authorization: authorization, credential: token.credential, proofs: proofs)
  }

  /// What came of a sending. The machine counts it if it left.
  func judge(
    _ outcome: HTTPOutcome, of sending: Sending, _ machine: inout RequestMachine, isCancelled: Bool
  ) throws(AgentFailure) -> Received {
    if case .notConnected = outcome {} else if case .untrusted = outcome {} else { machine.sent() }
    let failure: RequestFailure
    switch outcome {
    case .response(let response):
      guard (200...599).contains(response.status) else { throw self.failure(.lost(reason: "malformed"), machine) }
      guard let fields = ResponseFields(response.fields) else { throw self.failure(.responseTooLarge, machine) }
      let nonce = sending.proofs.rememberNonce(
        of: response, from: sending.url, by: sending.credential, to: sending.authorization)
      return Received(response: response, fields: fields, nonce: nonce)
    case .notConnected where isCancelled: failure = .cancelled(.notSent)
    case .notConnected(.timedOut) where timeLeft() == nil: failure = .timedOut(.notSent)
    case .notConnected(let reason): failure = .notSent(reason)
    case .untrusted(let reason): failure = .untrusted(reason)
    case .unknown(.cancelled, _): failure = .cancelled(.unknown)
    case .unknown(.tooLarge, _): failure = .responseTooLarge
    case .unknown(.timedOut, _) where timeLeft() == nil: failure = .timedOut(.unknown)
    case .unknown(let lost, _): failure = .lost(reason: lost.rawValue)
    }
    throw self.failure(failure, machine)
  }

  // MARK: failures

  /// The failure of a step before a sending; `machine` is nil before the first one was planned.
  func stopped(_ failure: AgentFailure, _ machine: RequestMachine?) -> AgentFailure {
    .stopped(failure, machine, hasKey: request.hasIdempotencyKey)
  }

  /// A read, and a write with an idempotency key, may be repeated also if it was performed.
  func failure(_ failure: RequestFailure, _ machine: RequestMachine) -> AgentFailure {
    .request(failure, account.id, isRepeatable: machine.isRead || request.hasIdempotencyKey)
  }

  // MARK: the request

  /// Nil once the request's time has run out.
  private func timeLeft() -> Milliseconds? {
    guard let deadline else { return Self.longestResponse }
    let left = deadline - dependencies.environment.clock.boot()
    return left > .zero ? left : nil
  }

  private func httpRequest(
    to url: HTTPURL, _ fields: [HTTPField], by client: ProviderClient, within left: Milliseconds, isRepeatable: Bool
  ) -> HTTPRequest {
    var outgoing = client.request(request.method, to: url, fields: fields, body: request.body)
    outgoing.timeout = left
    outgoing.beforeSending = request.beforeSending
    outgoing.connectTimeout = min(left, Self.longestConnect)
    outgoing.maximumResponseBytes = RequestMachine.maximumResponseBytes
    // The answer to an operation is not kept whole, and is not to be lost for want of memory.
    outgoing.memory = request.beforeSending == nil ? dependencies.environment.answers : nil
    outgoing.isForLimitedCaller = request.isOfLimitedCaller
    // Also with an idempotency key: Q2 counts each time that a write is sent.
    outgoing.reuse = ConnectionReuse(user: account.id.text, isRepeatable: isRepeatable)
    return outgoing
  }
}

extension RequestTarget.Refusal {
  /// `path`: where the URL stands in the params.
  func failure(of account: AccountID, at path: String) -> AgentFailure {
    switch self {
    case .invalidURL:
      .invalidParameter(
        path, expected: "an https URL without user information and fragment; http only on a loopback host")
    case .originNotAllowed: .originNotAllowed(account)
    case .telling(let meaning):
      .invalidParameter(
        path,
        expected: "a URL whose parameters name no \(meaning.rawValue), unless the provider's allowedFields allow it")
    }
  }
}

extension RequestFields {
  /// The rule for the names in fields and body.
  ///
  /// - Parameter path: where the request stands in the params.
  func check(
    _ body: Secret?, by names: RequestNames, isOfLimitedCaller: Bool, at path: String = ""
  ) throws(AgentFailure) {
    do throws(RequestFields.Refusal) {
      try check(by: names, isOfLimitedCaller: isOfLimitedCaller)
    } catch {
      throw .invalidParameter(path + error.path, expected: error.expected)
    }
    guard let body else { return }
    let refusal = body.withBytes { bytes -> FormNames.Refusal? in
      do throws(FormNames.Refusal) {
        try check(form: bytes, by: names)
        return nil
      } catch {
        return error
      }
    }
    switch refusal {
    case nil: return
    case .telling(let meaning):
      throw .invalidParameter(
        path + "/body",
        expected: "a form whose parameters name no \(meaning.rawValue), unless the provider's allowedFields allow it")
    case .unreadable:
      throw .invalidParameter(path + "/body", expected: "a form in UTF-8, neither compressed nor encoded")
    }
  }
}
