internal import AgentModel
internal import AgentOAuth
internal import AgentProtocol

extension WireServerTrust {
  /// How the provider's servers are reached and trusted now.
  init(of client: ProviderClient) {
    let trust = client.trust
    let pins = client.provider.configuration.pins.keys.sorted().compactMap { host in
      let pins = client.pins(of: host)
      return pins.isEmpty ? nil : WireMap<[String]>.Entry(name: host, value: pins)
    }
    self.init(
      caFile: trust.authorities.file, caDirectory: trust.authorities.directory, proxy: trust.proxy,
      noProxy: trust.noProxy, pins: pins.isEmpty ? nil : WireMap(pins))
  }
}
