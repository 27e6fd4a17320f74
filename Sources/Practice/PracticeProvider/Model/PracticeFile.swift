public import Foundation

/// Users and clients from a JSON file:
///
///     {"users": [{"name": "dora", "tenant": "initech", "password": "…", "roles": ["technician"]}],
///      "clients": [{"client_id": "my-app", "redirect_uris": ["http://127.0.0.1/callback"]}]}
///
/// Only `name` and `client_id` are required. Without `users` or `clients` the built-in ones stay.
public struct PracticeFile: Sendable, Decodable {
  public var users: [PracticeUser]?
  public var clients: [PracticeClient]?

  private enum CodingKeys: String, CodingKey { case users, clients }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    users = try container.decodeIfPresent([UserEntry].self, forKey: .users)?.map(\.user)
    clients = try container.decodeIfPresent([ClientEntry].self, forKey: .clients)?.map(\.client)
  }

  public init(data: Data) throws { self = try JSONDecoder().decode(PracticeFile.self, from: data) }

  public func apply(to options: inout PracticeOptions) {
    if let users { options.users = users }
    if let clients { options.clients = clients }
  }

  private struct UserEntry: Decodable {
    let name: String
    let subject: String?
    let password: String?
    let displayName: String?
    let email: String?
    let tenant: String?
    let roles: [String]?
    let entitlements: [String]?
    let disabled: Bool?

    var user: PracticeUser {
      PracticeUser(
        name: name,
        subject: subject,
        password: password,
        displayName: displayName,
        email: email,
        tenant: tenant ?? "acme",
        roles: roles ?? [],
        entitlements: entitlements ?? [],
        isDisabled: disabled ?? false
      )
    }
  }

  /// Under the names of RFC 7591 section 2.
  private struct ClientEntry: Decodable {
    let client_id: String
    let client_secret: String?
    let public_key: String?
    let token_endpoint_auth_method: ClientAuthenticationMethod?
    let redirect_uris: [String]?
    let post_logout_redirect_uris: [String]?
    let scope: String?
    let resources: [String]?

    var client: PracticeClient {
      PracticeClient(
        id: client_id,
        secret: client_secret,
        publicKey: public_key,
        authenticationMethods: token_endpoint_auth_method.map { [$0] },
        redirectURIs: redirect_uris ?? PracticeClient.loopbackRedirectURIs,
        postLogoutRedirectURIs: post_logout_redirect_uris ?? PracticeClient.loopbackRedirectURIs,
        scopes: scope?.split(separator: " ").map(String.init),
        resources: resources
      )
    }
  }
}
