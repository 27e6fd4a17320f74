public import AgentCore
package import AgentOAuth
public import AgentPorts
package import AgentRecords

/// The agent's only access to the outside: every effect it has goes through one of these.
public final class AgentEnvironment: Sendable {
  public let clock: any AgentClock
  public let entropy: any Entropy
  public let http: any HTTPExchange
  public let signatures: any SignatureVerifier
  public let keys: any ClientKeySigner
  public let redirects: any RedirectListenerFactory
  public let directories: any DirectoryAccounts
  public let subjectTokens: any SubjectTokenFiles
  public let browser: any BrowserOpener
  public let prompter: any Prompter
  /// Beside the PIN, which the agent judges itself.
  public let stepUpMethods: [any StepUpProver]
  public let signals: any SystemSignals
  public let backups: any BackupFiles
  public let configuration: StartConfiguration
  /// Where an organisation's signed policies come from; nil for none.
  public let policySource: PolicySource?
  public let log: any AgentLog
  package let refusals: ProviderRefusals
  package let figures: FigureKeeper
  /// Of long answers, until clients have read them.
  package let answers = MemoryBudget(bytes: 32 << 20)
  /// Of requests, until they were served: as many of the longest lines as one connection may have in flight.
  package let requests = MemoryBudget(bytes: 128 << 20)

  public init(
    clock: any AgentClock, entropy: any Entropy, http: any HTTPExchange, signatures: any SignatureVerifier,
    keys: any ClientKeySigner = NoClientKeys(), redirects: any RedirectListenerFactory,
    directories: any DirectoryAccounts, subjectTokens: any SubjectTokenFiles = NoSubjectTokenFiles(),
    browser: any BrowserOpener = NoBrowser(), prompter: any Prompter = NoPrompter(),
    stepUpMethods: [any StepUpProver] = [], signals: any SystemSignals = NoSystemSignals(),
    backups: any BackupFiles = NoBackupFiles(), configuration: StartConfiguration = StartConfiguration(),
    policySource: PolicySource? = nil, log: any AgentLog
  ) {
    self.clock = clock
    self.entropy = entropy
    self.http = http
    self.signatures = signatures
    self.keys = keys
    self.redirects = redirects
    self.directories = directories
    self.subjectTokens = subjectTokens
    self.browser = browser
    self.prompter = prompter
    self.stepUpMethods = stepUpMethods
    self.signals = signals
    self.backups = backups
    self.configuration = configuration
    self.policySource = policySource
    self.log = log
    refusals = ProviderRefusals(log: log)
    figures = FigureKeeper(clock: clock)
  }
}

extension ProviderClient.Dependencies {
  package init(_ environment: AgentEnvironment, time: TimeKeeper) {
    self.init(
      http: environment.http, clock: environment.clock, entropy: environment.entropy, keys: environment.keys,
      signatures: environment.signatures, time: time, subjectTokens: environment.subjectTokens,
      refusals: environment.refusals)
  }
}
