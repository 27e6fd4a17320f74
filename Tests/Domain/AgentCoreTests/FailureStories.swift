import AgentCore

extension Story {
  static let all = [
    standard, entra, google, github, okta, auth0, keycloak, slack, atlassian, gitea, salesforce, bitbucket,
  ]

  static let standard = Story(
    .standard,
    """
    300 -> transient status300
    399 -> transient status399
    408 -> transient status408
    425 -> transient status425
    429 -> throttled
    500 -> transient status500
    599 -> transient status599
    400 error=invalid_grant suberror=consent_required -> interaction
    400 error=invalid_grant suberror=basic_action -> interaction
    400 error=invalid_grant suberror=additional_action -> interaction
    400 error=invalid_grant suberror=message_only -> interaction
    400 error=invalid_grant suberror=user_password_expired -> interaction
    400 error=invalid_grant suberror=device_authentication_failed -> interaction
    400 error=unauthorized_client suberror=protection_policy_required -> interaction
    400 error=invalid_grant suberror=bad_token -> reauthenticate
    400 error=invalid_grant suberror=token_expired -> reauthenticate
    400 error=invalid_grant suberror=account_disabled -> locked
    400 error=invalid_grant suberror=user_disabled -> locked
    400 error=invalid_grant claims={} -> interaction {}
    400 error=invalid_grant -> reauthenticate
    401 error=invalid_client -> misconfigured invalid_client
    400 error=unauthorized_client -> misconfigured unauthorized_client
    400 error=unsupported_grant_type -> misconfigured unsupported_grant_type
    400 error=invalid_scope -> misconfigured invalid_scope
    400 error=server_error -> transient server_error
    400 error=temporarily_unavailable -> transient temporarily_unavailable
    400 error=invalid_token -> reauthenticate
    400 error=slow_down -> transient slow_down
    400 error=invalid_target -> misconfigured invalid_target
    400 error=invalid_authorization_details -> misconfigured invalid_authorization_details
    400 error=invalid_dpop_proof -> misconfigured invalid_dpop_proof
    400 error=use_dpop_nonce -> misconfigured use_dpop_nonce
    401 error=insufficient_user_authentication -> interaction
    400 error=invalid_request description=Refresh token is invalid or has already been claimed by another client. -> reauthenticate
    400 error=invalid_request description=Refresh token expired. -> reauthenticate
    400 description=Invalid refresh token -> reauthenticate
    400 description=missing or invalid refresh token -> reauthenticate
    200 error=invalid_code -> reauthenticate
    400 description=You have made too many requests continuously. Please try again after some time. -> throttled
    400 error=too_many_requests -> throttled
    403 error=invalid_grant description=Rate Limit exceeded, try again later -> throttled
    400 error=RATE_LIMIT_EXCEEDED -> throttled
    400 error=invalid_grant description=login rate exceeded -> throttled
    400 error=interaction_required -> interaction
    400 error=login_required -> interaction
    400 error=account_selection_required -> interaction
    400 error=consent_required -> interaction
    400 error=mfa_required -> interaction
    400 error=account_disabled -> locked
    400 error=user_disabled -> locked
    401 code=AUTH_SESSION_REVOKED -> reauthenticate revoked
    401 code=AUTH_SESSION_INVALID -> reauthenticate
    401 code=AUTH_SESSION_EXPIRED -> reauthenticate expired
    401 code=AUTH_SESSION_REUSED -> reauthenticate reused
    401 error=AUTH_SESSION_REVOKED -> reauthenticate revoked
    400 code=AUTH_REFRESH_TOKEN_REVOKED -> reauthenticate revoked
    400 code=AUTH_REFRESH_TOKEN_INVALID -> reauthenticate
    400 code=AUTH_REFRESH_TOKEN_EXPIRED -> reauthenticate expired
    400 code=AUTH_REFRESH_TOKEN_REUSED -> reauthenticate reused
    403 code=https://api.acme.example/problems/auth-session-revoked -> reauthenticate revoked
    401 code=urn:acme:error:AUTH_SESSION_EXPIRED -> reauthenticate expired
    401 error=Unauthorized code=AUTH_SESSION_REVOKED -> reauthenticate revoked
    400 error=invalid_grant code=AUTH_SESSION_REUSED -> reauthenticate reused
    401 code=TOKEN_REVOKED -> reauthenticate revoked
    401 code=token_reused -> reauthenticate reused
    401 code=token_invalid -> reauthenticate
    200 error=invalid_refresh_token -> reauthenticate
    400 code=refresh_token_already_used -> reauthenticate reused
    400 code=refresh_token_not_found -> reauthenticate
    403 code=session_not_found -> reauthenticate revoked
    400 code=user_banned -> locked
    400 code=400 code=TOKEN_EXPIRED code=INVALID_ARGUMENT -> reauthenticate expired
    400 code=USER_NOT_FOUND -> reauthenticate
    401 code=UNAUTHORIZED -> reauthenticate
    403 code=FORBIDDEN -> misconfigured access_denied
    401 error=invalid_client code=UNAUTHORIZED -> misconfigured invalid_client
    503 code=AUTH_SESSION_REVOKED -> transient status503
    """)

  static let entra = Story(
    .entra,
    """
    400 error=invalid_grant code=16000 -> interaction
    400 error=invalid_grant code=50072 -> interaction
    400 error=invalid_grant code=50074 -> interaction
    400 error=invalid_grant code=50076 -> interaction
    400 error=invalid_grant code=50078 -> interaction
    400 error=invalid_grant code=50079 -> interaction
    400 error=invalid_grant code=50097 -> interaction
    400 error=invalid_grant code=50125 -> interaction
    400 error=invalid_grant code=50131 -> interaction
    400 error=invalid_grant code=50158 -> interaction
    400 error=invalid_grant code=53000 -> interaction
    400 error=invalid_grant code=53001 -> interaction
    400 error=invalid_grant code=53002 -> interaction
    400 error=invalid_grant code=53003 -> interaction
    400 error=invalid_grant code=53004 -> interaction
    400 error=invalid_grant code=530032 -> interaction
    400 error=invalid_grant code=65001 -> interaction
    400 error=invalid_grant code=65004 -> interaction
    400 error=invalid_grant code=90094 -> interaction
    400 error=invalid_grant code=90095 -> interaction
    400 error=invalid_grant code=700020 -> interaction
    400 error=interaction_required code=50055 -> reauthenticate
    400 error=interaction_required code=50085 -> reauthenticate
    400 error=interaction_required code=50089 -> reauthenticate
    400 error=interaction_required code=50132 -> reauthenticate
    400 error=interaction_required code=50133 -> reauthenticate
    400 error=interaction_required code=50139 -> reauthenticate
    400 error=interaction_required code=50144 -> reauthenticate
    400 error=interaction_required code=50173 -> reauthenticate
    400 error=interaction_required code=70000 -> reauthenticate
    400 error=interaction_required code=70008 -> reauthenticate
    400 error=interaction_required code=70043 -> reauthenticate
    400 error=interaction_required code=700082 -> reauthenticate
    400 error=interaction_required code=700084 -> reauthenticate
    400 error=invalid_grant code=50057 -> locked
    400 error=invalid_request code=50105 -> misconfigured unauthorized_client
    400 error=invalid_request code=65005 -> misconfigured unauthorized_client
    400 error=invalid_request code=650056 -> misconfigured unauthorized_client
    400 error=invalid_request code=70001 -> misconfigured unauthorized_client
    400 error=invalid_request code=700011 -> misconfigured unauthorized_client
    400 error=invalid_request code=700016 -> misconfigured unauthorized_client
    400 error=invalid_request code=7000112 -> misconfigured unauthorized_client
    400 error=invalid_request code=70002 -> misconfigured invalid_client
    400 error=invalid_request code=700025 -> misconfigured invalid_client
    400 error=invalid_request code=700027 -> misconfigured invalid_client
    400 error=invalid_request code=7000215 -> misconfigured invalid_client
    400 error=invalid_request code=7000218 -> misconfigured invalid_client
    400 error=invalid_request code=7000222 -> misconfigured invalid_client
    400 error=invalid_request code=70003 -> misconfigured unsupported_grant_type
    400 error=invalid_request code=90002 -> misconfigured unauthorized_client
    400 error=invalid_request code=28002 -> misconfigured invalid_scope
    400 error=invalid_request code=28003 -> misconfigured invalid_scope
    400 error=invalid_request code=70011 -> misconfigured invalid_scope
    400 error=invalid_request code=700022 -> misconfigured invalid_scope
    400 error=invalid_request code=700023 -> misconfigured invalid_scope
    400 error=invalid_request code=50001 -> misconfigured invalid_target
    400 error=invalid_request code=500011 -> misconfigured invalid_target
    400 error=invalid_request code=650057 -> misconfigured invalid_target
    400 error=invalid_resource -> misconfigured invalid_target
    400 error=invalid_grant code=50196 -> throttled
    400 error=invalid_grant code=90055 -> throttled
    400 error=invalid_grant code=50166 -> throttled
    400 error=invalid_grant code=50033 -> transient temporarily_unavailable
    400 error=invalid_grant code=50087 -> transient temporarily_unavailable
    400 error=invalid_grant code=70012 -> transient temporarily_unavailable
    400 error=invalid_grant code=90006 -> transient temporarily_unavailable
    400 error=invalid_grant code=90012 -> transient temporarily_unavailable
    400 error=invalid_grant code=90024 -> transient temporarily_unavailable
    400 error=invalid_grant code=90033 -> transient temporarily_unavailable
    400 error=invalid_grant code=90090 -> transient temporarily_unavailable
    400 error=invalid_grant code=90091 -> transient temporarily_unavailable
    """)

  static let google = Story(
    .google,
    """
    400 error=invalid_grant suberror=invalid_rapt -> interaction
    400 error=admin_policy_enforced -> misconfigured admin_policy_enforced
    401 error=deleted_client -> misconfigured invalid_client
    400 error=internal_failure -> transient internal_failure
    403 code=rate_limit_exceeded -> throttled
    """)

  static let github = Story(
    .github,
    """
    200 error=bad_refresh_token -> reauthenticate
    200 error=unverified_user_email -> interaction
    200 error=incorrect_client_credentials -> misconfigured invalid_client
    200 error=redirect_uri_mismatch -> misconfigured redirect_uri_mismatch
    200 error=device_flow_disabled -> misconfigured unauthorized_client
    """)

  static let atlassian = Story(
    .atlassian,
    """
    403 error=unauthorized_client description=refresh_token is invalid -> reauthenticate
    """)

  static let gitea = Story(
    .gitea,
    """
    400 error=unauthorized_client description=unable to parse refresh token -> reauthenticate
    400 error=unauthorized_client description=token was already used -> reauthenticate
    """)

  static let salesforce = Story(
    .salesforce,
    """
    400 error=invalid_grant description=inactive user -> locked
    400 error=invalid_grant description=token request is already being processed -> transient temporarily_unavailable
    """)

  static let bitbucket = Story(
    .bitbucket,
    """
    400 error=invalid_request description=Invalid refresh_token -> reauthenticate
    """)

  static let slack = Story(
    .slack,
    """
    200 error=bad_client_secret -> misconfigured invalid_client
    200 error=invalid_client_id -> misconfigured invalid_client
    200 error=bad_redirect_uri -> misconfigured bad_redirect_uri
    200 error=ratelimited -> throttled
    200 error=internal_error -> transient internal_error
    200 error=service_unavailable -> transient service_unavailable
    """)

  static let okta = Story(
    .okta,
    """
    400 code=E0000047 -> throttled
    """)

  static let auth0 = Story(
    .auth0,
    """
    403 error=invalid_grant description=user is blocked -> locked
    400 error=too_many_attempts -> throttled
    400 error=access_denied description=Global limit has been reached -> throttled
    """)

  static let keycloak = Story(
    .keycloak,
    """
    400 error=invalid_grant description=User disabled -> locked
    400 error=invalid_scope description=Client no longer has requested consent from user -> interaction
    403 error=access_denied description=Realm not enabled -> misconfigured unauthorized_client
    403 error=invalid_request description=HTTPS required -> misconfigured invalid_request
    """)
}
