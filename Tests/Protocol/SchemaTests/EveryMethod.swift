import AgentProtocol
import JSONRPC

/// Every method of the contract, as the agent parses it.
enum EveryMethod {
  static let types: [any RPCMethod.Type] = [
    RpcDiscover.self,
    AgentHello.self,
    AgentStatus.self,
    AgentInitialize.self,
    AgentLock.self,
    AgentUnlock.self,
    AgentAddKeySlot.self,
    AgentRemoveKeySlot.self,
    AgentListKeySlots.self,
    AgentRotateRootKey.self,
    AgentBackup.self,
    AgentRestore.self,
    AgentDiagnose.self,
    AgentShutdown.self, MetricsRead.self,
    ProviderAdd.self,
    ProviderList.self,
    ProviderGet.self,
    ProviderUpdate.self,
    ProviderRemove.self, ProviderTest.self, ProviderDiscover.self,
    SignInBegin.self,
    SignInWait.self,
    SignInComplete.self,
    SignInCancel.self,
    SignInImport.self,
    AccountAdd.self,
    AccountReplace.self,
    AccountList.self,
    AccountGet.self,
    AccountSwitch.self,
    AccountRename.self,
    AccountResolve.self,
    AccountSignOut.self,
    AccountForget.self,
    RuleAdd.self,
    RuleList.self,
    RuleRemove.self,
    SessionGet.self,
    TokenGet.self,
    TokenRefresh.self,
    TokenReject.self,
    TokenExchange.self,
    IdentityGet.self, CredentialAws.self, ExecBegin.self,
    TokenProof.self,
    RequestAuthorize.self,
    RequestPass.self,
    RequestSend.self,
    AuthorizationCheck.self,
    AuthorizationCheckMany.self,
    SnapshotGet.self,
    SnapshotRefresh.self,
    PolicyGet.self,
    PolicySet.self,
    PolicyValidate.self,
    PolicyList.self,
    PolicyDraft.self,
    PolicyExplain.self,
    PolicyRefresh.self,
    StepUpEnroll.self,
    StepUpVerify.self,
    StepUpStatus.self,
    StepUpClear.self,
    StepUpUnenroll.self,
    SecretPut.self,
    SecretGet.self,
    SecretList.self,
    SecretRemove.self,
    OperationEnqueue.self,
    OperationList.self,
    OperationGet.self,
    OperationCancel.self,
    OperationRetry.self,
    OperationClaim.self, OperationSettle.self,
    RevocationList.self,
    RevocationRetry.self,
    RevocationAbandon.self,
    ConnectivityGet.self,
    ConnectivityReport.self,
    EventSubscribe.self,
    EventUnsubscribe.self,
    AuditList.self,
    AuditVerify.self,
    GrantCreate.self,
    GrantList.self,
    GrantRevoke.self,
    ApprovalList.self,
    ApprovalDecide.self,
    AccessRequest.self,
    AccessList.self,
    AccessDecide.self,
  ]

  /// Parses params as the agent does; nil if they are valid.
  static func problem(_ method: any RPCMethod.Type, params: String) throws -> ParamsProblem? {
    var tape = JSONTape()
    var line = params
    return try line.withUTF8 { buffer in
      let bytes = UnsafeRawBufferPointer(buffer)
      try JSONScanner.scan(bytes, onto: &tape)
      return tape.withRoot(of: bytes) { problem(method, $0) }
    }
  }

  private static func problem<Method: RPCMethod>(_ method: Method.Type, _ node: JSONNode) -> ParamsProblem? {
    do throws(ParamsProblem) {
      _ = try Method.Params(from: node)
      return nil
    } catch {
      return error
    }
  }
}
