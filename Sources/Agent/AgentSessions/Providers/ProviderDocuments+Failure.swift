internal import AgentModel
internal import AgentOAuth
internal import AgentStore

extension ProviderDocuments {
  /// Discovery, or the failure that a person is told.
  func discoverOrExplain() async throws(AgentFailure) -> ServerMetadata {
    do throws(DocumentFailure) {
      return try await discover()
    } catch {
      throw .provider(.document(error))
    }
  }
}
