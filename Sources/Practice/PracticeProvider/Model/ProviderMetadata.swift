/// Discovery (OpenID Discovery section 3, RFC 8414 section 2).
struct ProviderMetadata {
  let issuer: Issuer
  let options: PracticeOptions
  let algorithm: SigningAlgorithm

  var openIDConfiguration: PracticeJSON { metadata(withExtras: options.metadata == .everywhere) }

  var ofAuthorizationServer: PracticeJSON { metadata(withExtras: true) }

  private func metadata(withExtras: Bool) -> PracticeJSON {
    let methods = PracticeJSON.strings(options.toldAuthenticationMethods.map(\.rawValue))
    let extraGrantTypes = withExtras ? [GrantType.device, GrantType.tokenExchange] : []
    let grantTypes = ["authorization_code", "refresh_token"] + extraGrantTypes
    var members: [PracticeJSON.Member] = [
      .init("issuer", .string(options.hasIssuerOfEachTenant ? issuer.ofTenant("{tenantid}") : issuer.identifier)),
      .init("authorization_endpoint", .string(issuer.endpoint("/authorize"))),
      .init("token_endpoint", .string(issuer.endpoint("/token"))),
    ]
    if options.isOpenID {
      members += [
        .init("userinfo_endpoint", .string(issuer.endpoint("/userinfo"))),
        .init("end_session_endpoint", .string(issuer.endpoint("/logout"))),
        .init("jwks_uri", .string(issuer.endpoint("/jwks"))),
      ]
    }
    if withExtras {
      members += [
        .init("revocation_endpoint", .string(issuer.endpoint("/revoke"))),
        .init("revocation_endpoint_auth_methods_supported", methods),
        .init("device_authorization_endpoint", .string(issuer.endpoint("/device_authorization"))),
      ]
    }
    if withExtras, options.isOpenID {
      members += [
        .init("introspection_endpoint", .string(issuer.endpoint("/introspect"))),
        .init("introspection_endpoint_auth_methods_supported", methods),
      ]
    }
    if options.takesClientDocuments { members.append(.init("client_id_metadata_document_supported", true)) }
    if options.registration != .off {
      members.append(.init("registration_endpoint", .string(issuer.endpoint("/register"))))
    }
    if options.pushedAuthorization != .off {
      members.append(.init("pushed_authorization_request_endpoint", .string(issuer.endpoint("/par"))))
      members.append(
        .init("require_pushed_authorization_requests", .bool(options.pushedAuthorization == .required)))
    }
    if options.dpop != .off { members.append(.init("dpop_signing_alg_values_supported", ["ES256"])) }
    if options.authorizationDetails != .off, !options.authorizationDetailsTypes.isEmpty {
      members.append(
        .init("authorization_details_types_supported", .strings(options.authorizationDetailsTypes)))
    }
    members += [
      .init("scopes_supported", .strings(options.scopes)),
      .init("response_types_supported", ["code"]),
      .init("response_modes_supported", ["query"]),
      .init("grant_types_supported", .strings(grantTypes)),
      .init("subject_types_supported", ["public"]),
      .init("id_token_signing_alg_values_supported", .strings([algorithm.rawValue])),
      .init("token_endpoint_auth_methods_supported", methods),
      .init("token_endpoint_auth_signing_alg_values_supported", ["RS256", "ES256", "EdDSA"]),
      .init("prompt_values_supported", ["none", "login", "consent", "select_account"]),
      .init(
        "authorization_response_iss_parameter_supported",
        .bool(options.announcesIssuer && !options.hasIssuerOfEachTenant)),
      .init("claims_supported", .strings(Self.claims)),
    ]
    if options.announcesPKCE { members.append(.init("code_challenge_methods_supported", ["S256"])) }
    return .object(members)
  }

  private static let claims = [
    "iss", "sub", "aud", "azp", "exp", "iat", "auth_time", "nonce", "at_hash", "sid", "tid", "name",
    "preferred_username", "email", "email_verified", "roles",
  ]
}
