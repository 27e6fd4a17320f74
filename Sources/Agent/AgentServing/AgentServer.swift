public import Agent
public import AgentModel
public import AgentPorts
public import AgentSessions
internal import AgentStore
internal import AgentWire
public import JSONRPC
public import Secrets

/// The agent on the wire: serves conversations of any transport.
///
///     let server = AgentServer(store: store, keySource: keyFile, environment: environment, version: "1.0.0")
///     _ = try await server.open(protection: "keyFile")
///     await server.run()          // until shutDown()
public final class AgentServer: ConversationHost {
  package let agent: AgentService
  private let connections: OpenConnections

  /// - Parameters:
  ///   - ownerGrant: the owner's grant, which covers everything and is never stored; every caller then needs a grant.
  ///     Nil: programs of the agent's own user are trusted.
  ///   - onShutDown: called once, when `agent.shutdown` was answered or `shutDown()` was called: the transport ends then.
  public init(
    store: sending any Store, keySource: (any KeySource)?, otherKeySources: [any KeySource] = [],
    anchor: (any RollbackAnchor)? = nil, environment: AgentEnvironment, version: String,
    ownerGrant: Secret? = nil, locking: LockingRules = LockingRules(), limits: ServingLimits = ServingLimits(),
    onShutDown: @escaping @Sendable () -> Void = {}
  ) {
    let instance = "run_" + Base32.encode(environment.entropy.bytes(16))
    let events = EventHub(epoch: instance, clock: environment.clock)
    agent = AgentService(
      store: store, keySource: keySource, otherKeySources: otherKeySources, anchor: anchor, environment: environment,
      version: version, instance: instance, events: events, grantableMethods: ServedMethods.grantable,
      ownerGrant: ownerGrant,
      documents: { [signer = environment.keys] in AdministratorDocuments.read($0, signer: signer) },
      locking: locking, onShutDown: onShutDown)
    connections = OpenConnections(agent: agent, events: events, limits: limits)
  }

  /// The state of the vault after the agent's start.
  public enum Opening: Sendable, Equatable {
    case open
    /// A person must give the passphrase, by `agent.unlock`, or create the vault by `agent.initialize`.
    case locked
  }

  /// The vault can't be opened. A message gives a person the reason.
  public enum StartFailure: Error, Sendable {
    case store(StoreFailure)
    case vault(String)
    /// Memory or a file beside the store is missing, and the vault may be sound.
    case unavailable(String)
  }

  /// Opens the vault if that needs no person.
  ///
  /// - Parameter acceptingOldStore: the person says that a store which is older than its anchor is the only one: every
  ///   account in it is signed out, and no token of it is sent.
  /// - Throws: `StartFailure` if the vault can't be opened.
  public func open(
    protection: String, passphrase: Secret? = nil, acceptingOldStore: Bool = false
  ) async throws(StartFailure) -> Opening {
    do throws(AgentFailure) {
      let isOpen = try await agent.open(
        protection: protection, passphrase: passphrase, acceptingOldStore: acceptingOldStore)
      return isOpen ? .open : .locked
    } catch {
      if let failure = error.storeFailure { throw .store(failure) }
      throw error.kind == .storeUnavailable ? .unavailable(error.message) : .vault(error.message)
    }
  }

  /// The time until `open` judges a passphrase, after wrong ones that an earlier agent was given; nil if it does now.
  public func pauseBeforePassphrase() async -> Milliseconds? { await agent.vault.pauseBeforePassphrase }

  /// Serves until `shutDown()`; returns when everything in flight has ended.
  public func run() async { await agent.run() }

  /// Accepts no new work and refuses the waiters; exchanges in flight run to their end, so that no answer is lost.
  public func shutDown() { agent.shutDown() }

  // MARK: conversations

  public func begin(_ output: any ConnectionOutput) -> (any Conversation)? {
    connections.admit(output).map { Connection($0, of: connections, methods: .all) }
  }

  public var refusalLine: WireBytes {
    var object = AnswerObject.error(id: nil, .overloaded("connections"))
    object.byte(0x0A)
    return object.finish()
  }
}
