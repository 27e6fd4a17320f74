import AgentCore
import AgentModel
import AgentPorts

import AgentOAuth

/// Compares a preset with the document that its provider published: all that both say.
struct PresetContradictions {
  let preset: ProviderPreset
  let recording: RecordedDocument

  /// The members of the document that the preset contradicts, ordered by name; `hosts` if the issuer's host is none of
  /// the preset's. `exceptions` of the recording are among them.
  var members: [String] {
    var found: Set<String> = []
    func expect(_ holds: Bool, _ member: String) { if !holds { found.insert(member) } }
    let (metadata, provider) = (recording.metadata, provider)

    expect(provider.isItself(metadata.issuer) && isOfTheTemplate, "issuer")
    expect(HTTPURL(recording.issuer).map { preset.hosts.isEmpty || preset.isKnown(by: $0.host) } ?? false, "hosts")
    for (member, place) in Self.endpoints {
      let (own, told) = (provider.configuration.endpoints[keyPath: place], metadata.endpoints[keyPath: place])
      expect(own == nil || told == nil || own == told, member)
    }
    expect(provider.endpoints.authorization != nil, "authorization_endpoint")
    expect(provider.endpoints.token != nil, "token_endpoint")
    // The person is identified by an ID token or by userinfo.
    expect(provider.endpoints.jwks != nil || provider.endpoints.userinfo != nil, "jwks_uri")
    // A scope of a revocation says what the endpoint for them does.
    expect(preset.revocationScope == .family || provider.endpoints.revocation != nil, "revocation_endpoint")

    expect(allows("response_types_supported", "code"), "response_types_supported")
    expect(allows("response_modes_supported", "query"), "response_modes_supported")
    expect(allows("code_challenge_methods_supported", "S256"), "code_challenge_methods_supported")
    expect(allows("grant_types_supported", "authorization_code"), "grant_types_supported")
    if preset.scopes.contains("offline_access") {
      expect(allows("grant_types_supported", "refresh_token"), "grant_types_supported")
    }
    if preset.suggestsDevice || preset.endpoints.deviceAuthorization != nil {
      expect(provider.endpoints.deviceAuthorization != nil, "device_authorization_endpoint")
      expect(
        allows("grant_types_supported", "urn:ietf:params:oauth:grant-type:device_code", "device_code"),
        "grant_types_supported")
    }
    expect(!preset.registersClients || provider.endpoints.registration != nil, "registration_endpoint")
    expect(preset.scopes.allSatisfy { allows("scopes_supported", $0) }, "scopes_supported")
    expect(agreesOnAuthentication, "token_endpoint_auth_methods_supported")
    // The key of a bound token is of P-256.
    expect(allows("dpop_signing_alg_values_supported", "ES256"), "dpop_signing_alg_values_supported")
    expect(metadata.ignoredEndpoints == [], "issuer")
    return found.sorted()
  }

  /// As after `provider.add` with the preset and, where each customer has one, the issuer.
  private var provider: Provider {
    let issuer = preset.issuer ?? recording.issuer
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: issuer, clientID: "app")
    preset.fill(&configuration)
    configuration.endpoints = preset.endpoints(at: issuer)
    return Provider(configuration: configuration, metadata: recording.metadata)
  }

  private static var endpoints: [(String, KeyPath<ServerMetadata.Endpoints, String?>)] {
    [
      ("authorization_endpoint", \.authorization), ("token_endpoint", \.token), ("jwks_uri", \.jwks),
      ("userinfo_endpoint", \.userinfo), ("revocation_endpoint", \.revocation),
      ("introspection_endpoint", \.introspection), ("device_authorization_endpoint", \.deviceAuthorization),
      ("end_session_endpoint", \.endSession), ("registration_endpoint", \.registration),
      ("pushed_authorization_request_endpoint", \.pushedAuthorizationRequest),
    ]
  }

  private var isOfTheTemplate: Bool {
    preset.issuerTemplate.map { IssuerTemplate($0).words(of: recording.issuer) != nil } ?? true
  }

  /// True if the document lists one of the values, or has no such list.
  private func allows(_ member: String, _ values: String...) -> Bool {
    recording.list(member).map { list in values.contains { list.contains($0) } } ?? true
  }

  /// `none` and a secret that is required exclude each other; an assertion has an audience where the document takes
  /// assertions; the methods of the preset are among the document's.
  private var agreesOnAuthentication: Bool {
    guard let told = recording.list("token_endpoint_auth_methods_supported") else { return true }
    let methods: Set = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
    return !methods.isDisjoint(with: told) && Set(preset.tokenEndpointAuthMethods).isSubset(of: told)
      && !(preset.needsClientSecret && told.contains("none"))
      && (preset.assertionAudience == nil || told.contains("private_key_jwt"))
  }
}
