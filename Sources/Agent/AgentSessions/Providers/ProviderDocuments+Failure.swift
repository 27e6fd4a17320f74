internal import AgentModel
internal import AgentOAuth
internal import AgentStore

extension ProviderDocuments {
  /// Discovery, or the failure that a person is told.
  func discoverOrExplain() async throws(AgentFailure) -> ServerMetadata {
    let found: Result<ServerMetadata, DocumentFailure>
    do throws(DocumentFailure) {
      found = .success(try await discover())
    } catch {
      found = .failure(error)
    }
    // A document that nobody waited for is neither absent nor out of reach.
    if Task.isCancelled { throw .cancelled }
    do throws(DocumentFailure) {
      return try found.get()
    } catch {
      throw .provider(.document(error))
    }
  }
}
