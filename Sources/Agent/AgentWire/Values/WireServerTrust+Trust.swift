internal import AgentModel
package import AgentOAuth
package import AgentPorts
package import AgentProtocol

extension WireServerTrust {
  /// How the provider's servers are reached and trusted now.
  package init(of client: ProviderClient) {
    let pins = client.provider.configuration.pins.keys.sorted().compactMap { host in
      let pins = client.pins(of: host)
      return pins.isEmpty ? nil : WireMap<[String]>.Entry(name: host, value: pins)
    }
    self.init(client.trust, pins: pins.isEmpty ? nil : WireMap(pins))
  }

  /// How servers of no provider are reached and trusted; nil if nothing is configured.
  package init?(of http: any HTTPExchange) {
    let trust = http.trust(of: HTTPRequest(method: "GET", url: ""))
    guard trust != TrustSettings() else { return nil }
    self.init(trust, pins: nil)
  }

  private init(_ trust: TrustSettings, pins: WireMap<[String]>?) {
    self.init(
      caFile: trust.authorities.file, caDirectory: trust.authorities.directory, proxy: trust.proxy,
      noProxy: trust.noProxy, pins: pins)
  }
}
