import AgentCore
import AgentModel
import JSONRPC
import SecretJSON
import Secrets
import Testing

import AgentOAuth

/// Presets beside the discovery documents that their providers published (`Tests/Discovery`, each with its source and
/// date), and the endpoints of those that publish none.
@Suite struct RecordedDiscoveryTests {
  @Test func documents_areOfPresets() {
    #expect(RecordedDocument.names.count >= 15)
    for name in RecordedDocument.names { #expect(ProviderPreset.named(name) != nil, "\(name)") }
  }

  @Test(arguments: RecordedDocument.names) func presetAndItsRecordedDocument_contradictEachOtherNowhere(
    name: String
  ) throws {
    let preset = try #require(ProviderPreset.named(name))
    let recording = try #require(try RecordedDocument(name), "\(name).json has a source, a date and a document")
    #expect(PresetContradictions(preset: preset, recording: recording).members == recording.exceptions.keys.sorted())
  }

  /// What the agent keeps of a document is what the document says.
  @Test(arguments: RecordedDocument.names) func agentReads_whatTheDocumentSays(name: String) throws {
    let recording = try #require(try RecordedDocument(name))
    let (metadata, members) = (recording.metadata, recording.members)
    #expect(metadata.endpoints.deviceAuthorization == members["device_authorization_endpoint"] as? String)
    #expect(metadata.endpoints.revocation == members["revocation_endpoint"] as? String)
    #expect(metadata.endpoints.registration == members["registration_endpoint"] as? String)
    #expect(metadata.codeChallengeMethods == recording.list("code_challenge_methods_supported") ?? [])
    #expect(metadata.tokenEndpointAuthMethods == recording.list("token_endpoint_auth_methods_supported") ?? [])
    #expect(metadata.dpopAlgorithms == recording.list("dpop_signing_alg_values_supported") ?? [])
    let namesIssuer = members["authorization_response_iss_parameter_supported"] as? Bool
    #expect(metadata.authorizationResponseIssuer == namesIssuer ?? false)
  }

  /// A preset that contradicts its document in one member.
  struct Mistake: Sendable, CustomStringConvertible {
    let name: String
    let member: String
    let change: @Sendable (inout ProviderPreset) -> Void

    init(_ name: String, _ member: String, _ change: @escaping @Sendable (inout ProviderPreset) -> Void) {
      (self.name, self.member, self.change) = (name, member, change)
    }

    var description: String { "\(name): \(member)" }
  }

  static let mistakes = [
    Mistake("google", "issuer") { $0.issuer = "https://accounts.example" },
    Mistake("google", "hosts") { $0.hosts = ["login.google.com"] },
    Mistake("keycloak", "issuer") { $0.issuerTemplate = "https://HOST/auth/realms/REALM" },
    Mistake("google", "authorization_endpoint") { $0.endpoints.authorization = "https://accounts.google.com/auth" },
    Mistake("google", "token_endpoint") { $0.endpoints.token = "https://accounts.google.com/token" },
    Mistake("google", "revocation_endpoint") { $0.endpoints.revocation = "https://accounts.google.com/revoke" },
    Mistake("google", "device_authorization_endpoint") { $0.endpoints.deviceAuthorization = "https://google.com/d" },
    Mistake("gitea", "revocation_endpoint") { $0.revocationScope = .grant },
    Mistake("gitea", "registration_endpoint") { $0.registersClients = true },
    Mistake("gitea", "grant_types_supported") { $0.suggestsDevice = true },
    Mistake("dropbox", "grant_types_supported") { $0.scopes.append("offline_access") },
    Mistake("google", "scopes_supported") { $0.scopes.append("offline_access") },
    Mistake("fastmail", "token_endpoint_auth_methods_supported") { $0.needsClientSecret = true },
    Mistake("slack", "token_endpoint_auth_methods_supported") { $0.assertionAudience = .tokenEndpoint },
    Mistake("google", "token_endpoint_auth_methods_supported") { $0.tokenEndpointAuthMethods = ["none"] },
  ]

  /// Each difference is found, so that the comparison above says something.
  @Test(arguments: mistakes) func presetThatContradictsItsDocument_isFound(mistake: Mistake) throws {
    var preset = try #require(ProviderPreset.named(mistake.name))
    mistake.change(&preset)
    let recording = try #require(try RecordedDocument(mistake.name))
    #expect(PresetContradictions(preset: preset, recording: recording).members.contains(mistake.member))
  }

  @Test(arguments: ProviderPreset.all.filter { !$0.hasDiscovery }.map(\.name))
  func presetWithoutDiscovery_hasTheEndpointsOfASignIn(name: String) throws {
    let preset = try #require(ProviderPreset.named(name))
    let words = preset.issuerTemplate.map { _ in ["HOST": "git.corp.example"] } ?? [:]
    let template = try #require(preset.issuer ?? preset.issuerTemplate)
    let issuer = try #require(IssuerTemplate(template).filled(with: words))
    let endpoints = preset.endpoints(at: issuer)
    #expect(!preset.tokenEndpointAuthMethods.isEmpty)
    for endpoint in [endpoints.authorization, endpoints.token, endpoints.userinfo] {
      #expect(endpoint.flatMap { HTTPURL($0) }?.scheme == .https, "\(endpoint ?? "none")")
    }
  }

  @Test func issuersAndHosts_areOfOnePresetOnly() {
    let issuers = ProviderPreset.all.compactMap(\.issuer)
    #expect(Set(issuers).count == issuers.count)
    let hosts = ProviderPreset.all.flatMap(\.hosts)
    #expect(Set(hosts).count == hosts.count)
  }

  @Test func subjectOfUserInfo_isTheMemberThatThePresetKnows() throws {
    func subject(_ text: String, _ preset: String?) -> String? {
      SecretJSON.read(Secret(text: text)) { $0.subject(namedBy: preset.flatMap(ProviderPreset.named)) }
    }
    #expect(subject(#"{"account_id":"a1","id":"x"}"#, "atlassian") == "a1")
    #expect(subject(#"{"sub":"s","account_id":"a1"}"#, "atlassian") == "s")
    #expect(subject(#"{"id":7}"#, "atlassian") == nil, "another member is another person's")
    #expect(subject(#"{"id":7,"account_id":"a1"}"#, "github") == "7")
    #expect(subject(#"{"account_id":"a1"}"#, nil) == nil)
  }
}
