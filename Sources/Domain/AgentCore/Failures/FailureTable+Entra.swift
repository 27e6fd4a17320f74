extension FailureTable {
  /// Microsoft Entra: the numbers in `error_codes`.
  ///
  /// From learn.microsoft.com/entra/identity-platform/reference-error-codes, which warns that the codes change. Each
  /// row refines the `error` beside it; without a row, `error` and `suberror` decide.
  public static let entra = FailureTable(
    "entra",
    [
      // The person must interact: consent, a second factor, device state, Conditional Access.
      .code("16000", .interaction),
      .code("50072", .interaction),
      .code("50074", .interaction),
      .code("50076", .interaction),
      .code("50078", .interaction),
      .code("50079", .interaction),
      .code("50097", .interaction),
      .code("50125", .interaction),
      .code("50131", .interaction),
      .code("50158", .interaction),
      .code("53000", .interaction),
      .code("53001", .interaction),
      .code("53002", .interaction),
      .code("53003", .interaction),
      .code("53004", .interaction),
      .code("530032", .interaction),
      .code("65001", .interaction),
      .code("65004", .interaction),
      .code("90094", .interaction),
      .code("90095", .interaction),
      .code("700020", .interaction),

      // The refresh token or its session has ended.
      .code("50055", .reauthenticate),
      .code("50085", .reauthenticate),
      .code("50089", .reauthenticate),
      .code("50132", .reauthenticate),
      .code("50133", .reauthenticate),
      .code("50139", .reauthenticate),
      .code("50144", .reauthenticate),
      .code("50173", .reauthenticate),
      .code("70000", .reauthenticate),
      .code("70008", .reauthenticate),
      .code("70043", .reauthenticate),
      .code("700082", .reauthenticate),
      .code("700084", .reauthenticate),

      // UserDisabled. Not 50053 (too many wrong passwords, or a blocked address), which is temporary.
      .code("50057", .locked),

      // For an administrator: the application, its secret, the tenant, the person's assignment to it.
      .code("50105", .misconfigured, as: "unauthorized_client"),
      .code("65005", .misconfigured, as: "unauthorized_client"),
      .code("650056", .misconfigured, as: "unauthorized_client"),
      .code("70001", .misconfigured, as: "unauthorized_client"),
      .code("700011", .misconfigured, as: "unauthorized_client"),
      .code("700016", .misconfigured, as: "unauthorized_client"),
      .code("7000112", .misconfigured, as: "unauthorized_client"),
      .code("70002", .misconfigured, as: "invalid_client"),
      .code("700025", .misconfigured, as: "invalid_client"),
      .code("700027", .misconfigured, as: "invalid_client"),
      .code("7000215", .misconfigured, as: "invalid_client"),
      .code("7000218", .misconfigured, as: "invalid_client"),
      .code("7000222", .misconfigured, as: "invalid_client"),
      .code("70003", .misconfigured, as: "unsupported_grant_type"),
      .code("90002", .misconfigured, as: "unauthorized_client"),

      // The request was wrong, not the token.
      .code("28002", .misconfigured, as: "invalid_scope"),
      .code("28003", .misconfigured, as: "invalid_scope"),
      .code("70011", .misconfigured, as: "invalid_scope"),
      .code("700022", .misconfigured, as: "invalid_scope"),
      .code("700023", .misconfigured, as: "invalid_scope"),
      .code("50001", .misconfigured, as: "invalid_target"),
      .code("500011", .misconfigured, as: "invalid_target"),
      .code("650057", .misconfigured, as: "invalid_target"),
      .error("invalid_resource", .misconfigured, as: "invalid_target"),

      // Throttling with status 400: of the client, the tenant or a federated claims provider.
      .code("50196", .throttled),
      .code("90055", .throttled),
      .code("50166", .throttled),

      // Documented as transient, temporarily unavailable, or "try again".
      .code("50033", .transient, as: "temporarily_unavailable"),
      .code("50087", .transient, as: "temporarily_unavailable"),
      .code("70012", .transient, as: "temporarily_unavailable"),
      .code("90006", .transient, as: "temporarily_unavailable"),
      .code("90012", .transient, as: "temporarily_unavailable"),
      .code("90024", .transient, as: "temporarily_unavailable"),
      .code("90033", .transient, as: "temporarily_unavailable"),
      .code("90090", .transient, as: "temporarily_unavailable"),
      .code("90091", .transient, as: "temporarily_unavailable"),
    ])
}
