internal import Agent
internal import AgentProtocol

/// Every method that this agent serves: one line each, the handler in `Handlers/`.
///
/// A method of the contract that is not here answers -32601, and `agent.hello` does not list its feature.
struct ServedMethods: Sendable {
  static let all = ServedMethods([
    ServedMethod(AccountForgetHandler.self),
    ServedMethod(AccountGetHandler.self),
    ServedMethod(AccountListHandler.self),
    ServedMethod(AccountRenameHandler.self),
    ServedMethod(AccountResolveHandler.self),
    ServedMethod(AccountSignOutHandler.self),
    ServedMethod(AccountSwitchHandler.self),
    ServedMethod(AgentAddKeySlotHandler.self),
    ServedMethod(AgentBackupHandler.self),
    ServedMethod(AgentDiagnoseHandler.self),
    ServedMethod(ordered: AgentHelloHandler.self),
    ServedMethod(AgentInitializeHandler.self),
    ServedMethod(AgentListKeySlotsHandler.self),
    ServedMethod(AgentLockHandler.self),
    ServedMethod(AgentRemoveKeySlotHandler.self),
    ServedMethod(AgentRotateRootKeyHandler.self),
    ServedMethod(AgentRestoreHandler.self),
    ServedMethod(ordered: AgentShutdownHandler.self),
    ServedMethod(AgentStatusHandler.self),
    ServedMethod(AgentUnlockHandler.self),
    ServedMethod(AuditListHandler.self),
    ServedMethod(AuditVerifyHandler.self),
    ServedMethod(AuthorizationCheckHandler.self),
    ServedMethod(AuthorizationCheckManyHandler.self),
    ServedMethod(ConnectivityGetHandler.self),
    ServedMethod(ordered: ConnectivityReportHandler.self),
    ServedMethod(CredentialAwsHandler.self),
    ServedMethod(ordered: EventSubscribeHandler.self),
    ServedMethod(ordered: EventUnsubscribeHandler.self),
    ServedMethod(ExecBeginHandler.self),
    ServedMethod(GrantCreateHandler.self),
    ServedMethod(GrantListHandler.self),
    ServedMethod(GrantRevokeHandler.self),
    ServedMethod(IdentityGetHandler.self),
    ServedMethod(MetricsReadHandler.self),
    ServedMethod(OperationCancelHandler.self),
    ServedMethod(OperationClaimHandler.self),
    ServedMethod(OperationEnqueueHandler.self),
    ServedMethod(long: OperationGetHandler.self),
    ServedMethod(OperationListHandler.self),
    ServedMethod(OperationRetryHandler.self),
    ServedMethod(OperationSettleHandler.self),
    ServedMethod(PolicyExplainHandler.self),
    ServedMethod(PolicyGetHandler.self),
    ServedMethod(PolicyListHandler.self),
    ServedMethod(PolicyRefreshHandler.self),
    ServedMethod(PolicySetHandler.self),
    ServedMethod(PolicyValidateHandler.self),
    ServedMethod(ProviderAddHandler.self),
    ServedMethod(ProviderGetHandler.self),
    ServedMethod(ProviderListHandler.self),
    ServedMethod(ProviderRemoveHandler.self),
    ServedMethod(ProviderTestHandler.self),
    ServedMethod(ProviderDiscoverHandler.self),
    ServedMethod(ProviderUpdateHandler.self),
    ServedMethod(RequestAuthorizeHandler.self),
    ServedMethod(long: RequestSendHandler.self),
    ServedMethod(RevocationAbandonHandler.self),
    ServedMethod(RevocationListHandler.self),
    ServedMethod(RevocationRetryHandler.self),
    ServedMethod(RpcDiscoverHandler.self),
    ServedMethod(RuleAddHandler.self),
    ServedMethod(RuleListHandler.self),
    ServedMethod(RuleRemoveHandler.self),
    ServedMethod(SecretGetHandler.self),
    ServedMethod(SecretListHandler.self),
    ServedMethod(SecretPutHandler.self),
    ServedMethod(SecretRemoveHandler.self),
    ServedMethod(SessionGetHandler.self),
    ServedMethod(SignInBeginHandler.self),
    ServedMethod(SignInCancelHandler.self),
    ServedMethod(SignInCompleteHandler.self),
    ServedMethod(SignInImportHandler.self),
    ServedMethod(SignInWaitHandler.self),
    ServedMethod(SnapshotGetHandler.self),
    ServedMethod(SnapshotRefreshHandler.self),
    ServedMethod(StepUpClearHandler.self),
    ServedMethod(StepUpEnrollHandler.self),
    ServedMethod(StepUpStatusHandler.self),
    ServedMethod(StepUpUnenrollHandler.self),
    ServedMethod(StepUpVerifyHandler.self),
    ServedMethod(TokenExchangeHandler.self),
    ServedMethod(TokenGetHandler.self),
    ServedMethod(TokenProofHandler.self),
    ServedMethod(TokenRefreshHandler.self),
    ServedMethod(TokenRejectHandler.self),
  ])

  private let byName: [String: ServedMethod]

  init(_ methods: [ServedMethod]) {
    byName = Dictionary(uniqueKeysWithValues: methods.map { ($0.info.name, $0) })
  }

  subscript(name: String) -> ServedMethod? { byName[name] }

  /// Nil for a method that is not served.
  func carriesBody(_ name: String) -> Bool? { byName[name]?.info.carriesBody }
}
