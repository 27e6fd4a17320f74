extension FailureTable {
  /// Microsoft Entra: the numbers in `error_codes`.
  ///
  /// From learn.microsoft.com/entra/identity-platform/reference-error-codes, which warns that they change: each of them
  /// only says more than the `error` beside it, and without any row `error` and `suberror` decide.
  public static let entra = FailureTable(
    "entra",
    [
      // The person is wanted for this audience: consent, a second factor, a device, a policy of Conditional Access.
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

      // UserDisabled. 50053 (too many wrong passwords, or a bad address) passes by itself and is not this.
      .code("50057", .locked),

      // An administrator's: the application, its secret, the tenant, the assignment of the person to it.
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

      // What was asked with the token, not the token.
      .code("28002", .misconfigured, as: "invalid_scope"),
      .code("28003", .misconfigured, as: "invalid_scope"),
      .code("70011", .misconfigured, as: "invalid_scope"),
      .code("700022", .misconfigured, as: "invalid_scope"),
      .code("700023", .misconfigured, as: "invalid_scope"),
      .code("50001", .misconfigured, as: "invalid_target"),
      .code("500011", .misconfigured, as: "invalid_target"),
      .code("650057", .misconfigured, as: "invalid_target"),
      .error("invalid_resource", .misconfigured, as: "invalid_target"),

      // Throttling, said with 400: a client that asks too often, a tenant, a claims provider behind it.
      .code("50196", .throttled),
      .code("90055", .throttled),
      .code("50166", .throttled),

      // "A transient error", "temporarily unavailable", "try again".
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
