package import AgentModel
package import AgentOAuth
package import AgentStore

extension ProviderDocuments {
  /// Discovery, or the failure that a person is told.
  package func discoverOrExplain() async throws(AgentFailure) -> ServerMetadata {
    let metadata: ServerMetadata
    do throws(DocumentFailure) {
      metadata = try await discover()
    } catch {
      throw Task.isCancelled ? .cancelled : .provider(.document(error))
    }
    // The caller cancelled: a document that was not read is neither absent nor out of reach.
    if Task.isCancelled { throw .cancelled }
    return metadata
  }
}
