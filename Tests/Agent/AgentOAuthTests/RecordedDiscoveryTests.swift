import AgentCore
import AgentModel
import Foundation
import JSONRPC
import SecretJSON
import Secrets
import Testing

@testable import AgentOAuth

/// Presets beside the discovery documents that their providers published (`Tests/Discovery`, each with its source and
/// date), and the endpoints of those that publish none.
@Suite struct RecordedDiscoveryTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Discovery")

  private static let recorded = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()

  private func document(_ name: String) throws -> (metadata: ServerMetadata, scopes: [String]?) {
    let text = try String(contentsOf: Self.folder.appending(path: name + ".json"), encoding: .utf8)
    return try #require(
      SecretJSON.read(Secret(text: text)) { node in
        guard node["source"]?.string?.hasPrefix("https://") == true, node["date"]?.string?.utf8.count == 10 else {
          return nil
        }
        return node["document"].flatMap { document in
          ServerMetadata(document).map { ($0, document["scopes_supported"]?.strings) }
        }
      })
  }

  /// As after `provider.add` with the preset and, where each customer has one, the issuer.
  private func provider(_ preset: ProviderPreset, _ metadata: ServerMetadata) -> Provider {
    let issuer = preset.issuer ?? metadata.issuer.replacing("{tenantid}", with: "common")
    var configuration = ProviderConfiguration(name: ProviderName("idp")!, issuer: issuer, clientID: "app")
    preset.fill(&configuration)
    configuration.endpoints = preset.endpoints(at: issuer)
    return Provider(configuration: configuration, metadata: metadata)
  }

  @Test func documents_areOfPresets() {
    #expect(Self.recorded.count >= 8)
    for name in Self.recorded { #expect(ProviderPreset.named(name)?.hasDiscovery == true, "\(name)") }
  }

  @Test(arguments: recorded) func presetAndItsRecordedDocument_completeASignIn(name: String) throws {
    let preset = try #require(ProviderPreset.named(name))
    let (metadata, scopes) = try document(name)
    let provider = provider(preset, metadata)
    #expect(provider.isItself(metadata.issuer), "\(metadata.issuer)")
    #expect(provider.endpoints.authorization != nil && provider.endpoints.token != nil)
    #expect(provider.endpoints.jwks != nil || provider.endpoints.userinfo != nil, "the person can be identified")
    #expect(metadata.ignoredEndpoints == [])
    for scope in preset.scopes {
      #expect(scopes?.contains(scope) ?? true, "\(scope) is none of the provider's")
    }
    if let host = HTTPURL(metadata.issuer.replacing("{tenantid}", with: "common"))?.host, !preset.hosts.isEmpty {
      #expect(preset.isKnown(by: host), "\(host)")
    }
  }

  /// An endpoint of a preset is one that the document does not name: otherwise the data would be of no use.
  @Test(arguments: recorded) func endpointOfAPreset_isNotInTheDocument(name: String) throws {
    let preset = try #require(ProviderPreset.named(name))
    let metadata = try document(name).metadata
    let told = preset.endpoints(at: preset.issuer ?? metadata.issuer)
    #expect(told.completed(from: metadata.endpoints) == metadata.endpoints.completed(from: told))
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
