internal import AgentCore
internal import AgentModel

/// One agent with one account: the real machines, and what their shell keeps.
struct FleetAgent {
  var machine: TokenMachine
  var exchanges = ExchangeMachine()
  var queue = ExchangeQueue()
  /// Nil where no program asks for ID tokens.
  var identity: IDTokenMachine?

  /// Mean pause between two requests of its programs, in milliseconds.
  var pauseOfPrograms: Int64
  /// A caller asks on while there is no token.
  var hasCaller = false
  /// Until then the machine sleeps.
  var sleepsUntil: Int64 = 0
  var awakeSince: Int64 = 0
  /// When `RenewalPlan` looks next.
  var nextLook: Int64?
  /// The numbers of the last planned request, and of the last planned look.
  var askStamp: UInt32 = 0
  var serial: UInt64 = 0
  var waiters: UInt64 = 0
  var tickets: UInt64 = 0
  /// The signing key that the agent knows, and that of its last ID token.
  var knownKey = 0
  var tokenKey = 0
  var isReadingKeys = false
  var keyFailures = 0
  /// Asked for documents last.
  var documentsReadAt: Int64 = 0
  var polling = BundlePolling(every: .zero)
  var isPolicyLate = false
  /// When `BundlePolling` looks next.
  var nextPoll: Int64?
  var revocationAttempts = 0
  /// Of the planned revocation, and whether one is on its way.
  var revocationStamp: UInt32 = 0
  var isRevoking = false
  var owesRevocation = false
  var isSigningIn = false
  var signInFailures = 0
  /// A program was refused, and got no token since.
  var isUnwell = false
  /// Failures in a row of a naive client.
  var failures = 0
  var isTrying = false
}
