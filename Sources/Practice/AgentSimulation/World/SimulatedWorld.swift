public import Agent
public import AgentServing
public import AgentServing
public import AgentModel
public import AgentPorts
public import StorageFaults
internal import Synchronization

/// A machine, a network and a person in memory, all from one seed: the real agent over the real store, on an executor
/// that chooses the schedule, with clocks that jump when every task waits.
///
///     let world = SimulatedWorld(seed: 7)
///     try world.run { world in
///       let idp = try await world.provider("idp")
///       let work = try await world.signIn("alice", at: idp, alias: "work")
///       let client = try world.client()
///       await world.clock.sleep(for: .seconds(280))
///       let answer = await client.call("token.get", #"{"account":"work"}"#)
///     }
///
/// `run` drives on the calling thread; all other functions are called inside it, unless they say "between runs".
public final class SimulatedWorld: Sendable {
  public let seed: UInt64
  public let executor: SeededExecutor
  public let clock: VirtualClock
  public let network: SimulatedNetwork
  public let browser = SimulatedBrowser()
  public let disk = SimulatedDisk()
  public let keys = SimulatedKeys()
  public let anchor = SimulatedAnchor()
  public let signals = SimulatedSignals()
  let commitPlan = CommitPlan()
  let protection: String
  /// The owner's grant, if the agent demands a grant from every caller. Clients of scenes present it.
  let ownerGrant: String?
  let locking: LockingRules
  let log: any AgentLog
  let directories: any DirectoryAccounts
  let onShutDown: @Sendable () -> Void
  let afterStep: @Sendable (SimulatedWorld) async -> Void
  let state = Mutex(State())

  struct State {
    var process: SimulatedProcess?
    var processes: UInt64 = 0
    /// The death of the process that the disk's fault plan causes.
    var plannedDeath: SimulatedDisk.Death?
    var powerWasLost = false
    /// The disk may fail.
    var hasDiskPlan = false
  }

  /// - Parameter protection: of the agent's vault; with `passphrase` it starts locked. `onShutDown` is called when an
  ///   agent begins to shut down by itself, and `afterStep` once a client of the scenario has read an answer.
  public init(
    seed: UInt64, start: Timestamp = Timestamp(year: 2030, month: 1, day: 1), protection: String = "keyFile",
    ownerGrant: String? = nil, locking: LockingRules = LockingRules(), log: any AgentLog = SilentLog(),
    directories: any DirectoryAccounts = NoDirectoryAccounts(),
    onShutDown: @escaping @Sendable () -> Void = {},
    afterStep: @escaping @Sendable (SimulatedWorld) async -> Void = { _ in }
  ) {
    self.seed = seed
    self.protection = protection
    self.ownerGrant = ownerGrant
    self.locking = locking
    self.log = log
    self.directories = directories
    self.onShutDown = onShutDown
    self.afterStep = afterStep
    executor = SeededExecutor(seed: seed)
    clock = VirtualClock(start: start)
    network = SimulatedNetwork(clock: clock, seed: seed ^ 0x6E65_7477_6F72_6B00)
  }

  deinit {
    // The store's files are on this disk; close them before it goes.
    state.withLock { $0.process }?.end()
    executor.runUntilIdle()
  }

  // MARK: driving

  /// A scenario that cannot continue: every task waits for ever, or time passes without an end.
  public struct Stuck: Error, CustomStringConvertible {
    public let seed: UInt64
    public let description: String
  }

  /// Far above any scenario; more means an endless loop.
  private static let mostJobs = 20_000_000
  private static let mostJumps = 2_000_000

  /// Starts the agent if none runs, and drives everything until `body` has ended. Time passes only while every task
  /// waits.
  @discardableResult
  public func run<Result: Sendable>(
    _ body: @escaping @Sendable (SimulatedWorld) async throws -> Result
  ) throws -> Result {
    try drive { [self] in
      if !isRunning { try await start() }
      return try await body(self)
    }
  }

  /// Drives a scenario without starting an agent.
  @discardableResult
  public func drive<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
    let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
    let box = Box(outcome)
    Task(executorPreference: executor) {
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      box.value.withLock { $0 = result }
    }
    let firstJob = executor.jobsRun
    var jumps = 0
    while true {
      executor.run { box.value.withLock { $0 != nil } }
      if let result = box.value.withLock({ $0 }) { return try result.get() }
      guard clock.advanceToNext() else {
        throw Stuck(seed: seed, description: "seed \(seed): every task waits and none sleeps")
      }
      jumps += 1
      guard executor.jobsRun - firstJob < Self.mostJobs, jumps < Self.mostJumps else {
        throw Stuck(seed: seed, description: "seed \(seed): it goes round in circles")
      }
    }
  }

  private final class Box<Value: ~Copyable & Sendable>: Sendable {
    let value: Value
    init(_ value: consuming Value) { self.value = value }
  }

  /// Between runs: runs all tasks until they wait, without time passing.
  public func settle() { executor.runUntilIdle() }

  /// Between runs: lets time pass, and wakes sleepers in their order.
  public func advance(by duration: Milliseconds) {
    let end = clock.boot() + duration
    settle()
    while clock.advanceToNext(limit: end) { settle() }
    clock.move(to: end)
    settle()
  }

  // MARK: the agent's process

  /// Starts the agent on the disk. Throws where `lanyard-agent` would exit.
  public func start(acceptingOldStore: Bool = false) async throws {
    let (number, powerWasLost) = state.withLock { state in
      state.processes += 1
      defer { state.powerWasLost = false }
      return (state.processes, state.powerWasLost)
    }
    if powerWasLost { clock.reboot() }
    let process = try SimulatedProcess(number: number, world: self)
    state.withLock { $0.process = process }
    do {
      try await process.open(protection: protection, acceptingOldStore: acceptingOldStore)
    } catch {
      process.end()
      throw error
    }
    process.run(on: executor)
  }

  public var isRunning: Bool { state.withLock { $0.process?.life.isAlive ?? false } }

  /// The running agent, for state that no method returns. Traps if none runs.
  public var server: AgentServer { process.server }

  var process: SimulatedProcess {
    guard let process = state.withLock({ $0.process }) else { preconditionFailure("no agent was started") }
    return process
  }

  /// Ends the process, or with it the machine, between two jobs of a scenario; `crash(at:)` and `failDisk` do it within
  /// the agent's own work.
  public func crash(_ death: SimulatedDisk.Death = .kill) {
    process.end()
    disk.die(death)
    if case .powerLoss = death { state.withLock { $0.powerWasLost = true } }
  }

  /// Plans a crash before or after a commit of the store, counted from now.
  public func crash(at moment: CommitMoment) { commitPlan.die(moment) }

  /// Plans that a commit, counted from now, fails without effect.
  public func failCommit(_ number: Int, with failure: StoreFailure) { commitPlan.fail(number, with: failure) }

  /// Another program reads the store, so that its log cannot be emptied.
  public var logIsHeld: Bool {
    get { commitPlan.logIsHeld }
    set { commitPlan.logIsHeld = newValue }
  }

  /// Commits of the store since the world was created.
  public var commits: Int { commitPlan.commits }

  /// Plans a fault at a disk operation, counted from now.
  public func failDisk(_ fault: SimulatedDisk.Fault, at operation: Int) {
    state.withLock { $0.hasDiskPlan = true }
    state.withLock { if case .die(let death) = fault { $0.plannedDeath = death } else { $0.plannedDeath = nil } }
    disk.plan(fault, at: disk.operations + operation, seed: seed ^ UInt64(operation))
  }

  /// Starts a new process on the same disk; kills a running one first. Plans for the disk and the store are dropped.
  public func restart(acceptingOldStore: Bool = false) async throws {
    if isRunning { crash() }
    commitPlan.clear()
    state.withLock { state in
      if case .powerLoss? = state.plannedDeath, disk.hasFaulted { state.powerWasLost = true }
      state.plannedDeath = nil
      state.hasDiskPlan = false
    }
    disk.revive()
    try await start(acceptingOldStore: acceptingOldStore)
  }

  /// Until a restart a commit or an operation of the disk, which are counted, may fail: a call that reads would change
  /// which one.
  public var hasPlans: Bool { commitPlan.hasPlans || state.withLock { $0.hasDiskPlan } }

  /// Called after each call of the store.
  func diskHasKilled() -> Bool { state.withLock { $0.plannedDeath } != nil && disk.hasFaulted }
}
