import ArgumentParser

/// A command that changes nothing, so that its failures need not say so.
protocol ShowingCommand: ParsableCommand {}

extension AccountShow: ShowingCommand {}
extension ApprovalsList: ShowingCommand {}
extension AuditCommand: ShowingCommand {}
extension Can: ShowingCommand {}
extension Doctor: ShowingCommand {}
extension Events: ShowingCommand {}
extension GrantList: ShowingCommand {}
extension KeyList: ShowingCommand {}
extension List: ShowingCommand {}
extension MetricsCommand: ShowingCommand {}
extension OperationsList: ShowingCommand {}
extension OperationsShow: ShowingCommand {}
extension PolicyCheck: ShowingCommand {}
extension PolicyDraft: ShowingCommand {}
extension PolicyExplain: ShowingCommand {}
extension PolicyList: ShowingCommand {}
extension PolicyShow: ShowingCommand {}
extension ProviderList: ShowingCommand {}
extension ProviderPresets: ShowingCommand {}
extension ProviderShow: ShowingCommand {}
extension ProviderTest: ShowingCommand {}
extension Resolve: ShowingCommand {}
extension RevocationsList: ShowingCommand {}
extension RuleList: ShowingCommand {}
extension Status: ShowingCommand {}
