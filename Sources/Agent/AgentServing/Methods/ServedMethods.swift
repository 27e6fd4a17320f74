internal import AgentProtocol

/// Every method that this agent serves: one line each, with what it reaches; the handler is in `Handlers/`.
///
/// A method of the contract that is not here answers -32601, and `agent.hello` does not list its feature.
package struct ServedMethods: Sendable {
  static let all = ServedMethods([
    ServedMethod(
      AccountAddHandler.self, reaches: .agent, .provider { $0.provider }, .name { $0.alias != nil }),
    ServedMethod(AccountForgetHandler.self, reaches: .account),
    ServedMethod(AccountGetHandler.self, reaches: .account),
    ServedMethod(AccountListHandler.self, reaches: .covered),
    ServedMethod(AccountRenameHandler.self, reaches: .account, .name()),
    ServedMethod(AccountReplaceHandler.self, reaches: .account),
    ServedMethod(AccountResolveHandler.self, reaches: .covered),
    ServedMethod(AccountSignOutHandler.self, reaches: .account),
    ServedMethod(AccountSwitchHandler.self, reaches: .account),
    ServedMethod(AgentAddKeySlotHandler.self, reaches: .agent),
    ServedMethod(AgentBackupHandler.self, reaches: .agent),
    ServedMethod(AgentDiagnoseHandler.self, reaches: .agent, .covered, .provider { $0.provider }),
    ServedMethod(ordered: AgentHelloHandler.self, reaches: .shared),
    ServedMethod(AgentInitializeHandler.self, reaches: .agent),
    ServedMethod(AgentListKeySlotsHandler.self, reaches: .agent),
    ServedMethod(AgentLockHandler.self, reaches: .agent),
    ServedMethod(AgentRemoveKeySlotHandler.self, reaches: .agent),
    ServedMethod(AgentRotateRootKeyHandler.self, reaches: .agent),
    ServedMethod(AgentRestoreHandler.self, reaches: .agent),
    ServedMethod(ordered: AgentShutdownHandler.self, reaches: .agent),
    ServedMethod(AgentStatusHandler.self, reaches: .covered),
    ServedMethod(AgentUnlockHandler.self, reaches: .agent),
    ServedMethod(AuditListHandler.self, reaches: .covered),
    ServedMethod(AuditVerifyHandler.self, reaches: .agent, .covered),
    ServedMethod(AuthorizationCheckHandler.self, reaches: .account),
    ServedMethod(AuthorizationCheckManyHandler.self, reaches: .account),
    ServedMethod(ConnectivityGetHandler.self, reaches: .shared),
    ServedMethod(ordered: ConnectivityReportHandler.self, reaches: .agent),
    ServedMethod(CredentialAwsHandler.self, reaches: .account),
    ServedMethod(ordered: EventSubscribeHandler.self, reaches: .covered),
    ServedMethod(ordered: EventUnsubscribeHandler.self, reaches: .covered),
    ServedMethod(ExecBeginHandler.self, reaches: .account),
    ServedMethod(GrantCreateHandler.self, reaches: .covered),
    ServedMethod(GrantListHandler.self, reaches: .covered),
    ServedMethod(GrantRevokeHandler.self, reaches: .grant { $0.grant }),
    ServedMethod(IdentityGetHandler.self, reaches: .account),
    ServedMethod(MetricsReadHandler.self, reaches: .agent),
    ServedMethod(OperationCancelHandler.self, reaches: .account),
    ServedMethod(OperationClaimHandler.self, reaches: .account),
    ServedMethod(OperationEnqueueHandler.self, reaches: .account),
    ServedMethod(long: OperationGetHandler.self, reaches: .account),
    ServedMethod(OperationListHandler.self, reaches: .account),
    ServedMethod(OperationRetryHandler.self, reaches: .account),
    ServedMethod(OperationSettleHandler.self, reaches: .account),
    ServedMethod(PolicyDraftHandler.self, reaches: .covered),
    ServedMethod(PolicyExplainHandler.self, reaches: .account),
    ServedMethod(PolicyGetHandler.self, reaches: .shared),
    ServedMethod(PolicyListHandler.self, reaches: .shared),
    ServedMethod(PolicyRefreshHandler.self, reaches: .agent),
    ServedMethod(PolicySetHandler.self, reaches: .agent),
    ServedMethod(PolicyValidateHandler.self, reaches: .shared),
    ServedMethod(ProviderAddHandler.self, reaches: .agent, .name()),
    ServedMethod(ProviderGetHandler.self, reaches: .provider { $0.provider }),
    ServedMethod(ProviderListHandler.self, reaches: .covered),
    ServedMethod(ProviderRemoveHandler.self, reaches: .agent, .provider { $0.provider }),
    ServedMethod(ProviderTestHandler.self, reaches: .agent, .provider { $0.provider }),
    ServedMethod(ProviderDiscoverHandler.self, reaches: .agent),
    ServedMethod(ProviderUpdateHandler.self, reaches: .agent, .provider { $0.provider }),
    ServedMethod(RequestAuthorizeHandler.self, reaches: .account),
    ServedMethod(RequestPassHandler.self, reaches: .agent),
    ServedMethod(long: RequestSendHandler.self, reaches: .account),
    ServedMethod(RevocationAbandonHandler.self, reaches: .revocation { $0.revocation }),
    ServedMethod(RevocationListHandler.self, reaches: .covered),
    ServedMethod(RevocationRetryHandler.self, reaches: .revocation { $0.revocation }),
    ServedMethod(RpcDiscoverHandler.self, reaches: .shared),
    ServedMethod(RuleAddHandler.self, reaches: .agent, .account { $0.account }),
    ServedMethod(RuleListHandler.self, reaches: .agent, .covered),
    ServedMethod(RuleRemoveHandler.self, reaches: .agent, .rule { $0.rule }),
    ServedMethod(SecretGetHandler.self, reaches: .account),
    ServedMethod(SecretListHandler.self, reaches: .account),
    ServedMethod(SecretPutHandler.self, reaches: .account),
    ServedMethod(SecretRemoveHandler.self, reaches: .account),
    ServedMethod(SessionGetHandler.self, reaches: .account),
    ServedMethod(
      SignInBeginHandler.self, reaches: .account { $0.account }, .provider { $0.provider }, .name { $0.alias != nil }),
    ServedMethod(SignInCancelHandler.self, reaches: .signIn { $0.signIn }),
    ServedMethod(SignInCompleteHandler.self, reaches: .signIn { $0.signIn }),
    ServedMethod(SignInImportHandler.self, reaches: .agent, .provider { $0.provider }, .name { $0.alias != nil }),
    ServedMethod(SignInWaitHandler.self, reaches: .signIn { $0.signIn }),
    ServedMethod(SnapshotGetHandler.self, reaches: .account),
    ServedMethod(SnapshotRefreshHandler.self, reaches: .account),
    ServedMethod(StepUpClearHandler.self, reaches: .account),
    ServedMethod(StepUpEnrollHandler.self, reaches: .account),
    ServedMethod(StepUpStatusHandler.self, reaches: .account),
    ServedMethod(StepUpUnenrollHandler.self, reaches: .account),
    ServedMethod(StepUpVerifyHandler.self, reaches: .account),
    ServedMethod(TokenExchangeHandler.self, reaches: .account),
    ServedMethod(TokenGetHandler.self, reaches: .account),
    ServedMethod(TokenProofHandler.self, reaches: .account),
    ServedMethod(TokenRefreshHandler.self, reaches: .account),
    ServedMethod(TokenRejectHandler.self, reaches: .account),
  ])

  private let byName: [String: ServedMethod]

  init(_ methods: [ServedMethod]) {
    byName = Dictionary(uniqueKeysWithValues: methods.map { ($0.info.name, $0) })
  }

  subscript(name: String) -> ServedMethod? { byName[name] }

  /// What a method reaches; nil for one that is not served.
  package static func reached(by name: String) -> [ReachedKind]? { all[name]?.reached }

  /// Nil for a method that is not served.
  func carriesBody(_ name: String) -> Bool? { byName[name]?.info.carriesBody }
}
