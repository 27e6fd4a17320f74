package import AgentModel
package import AgentOAuth

extension TimeKeeper: ProviderWatcher {
  package func providerChanged(_ name: ProviderName, to provider: Provider?) {
    if provider == nil { forget(name) }
  }
}
