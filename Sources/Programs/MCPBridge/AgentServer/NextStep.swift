/// What an AI agent does after a failure of the agent: it can't sign in, confirm or change a policy, but it can ask.
public enum NextStep {
  /// - Parameters:
  ///   - name: the name of the agent's error.
  ///   - reason: `data.reason`, else that of the decision.
  public static func text(after name: String, reason: String?, in tool: AgentTool) -> String {
    switch (name, reason) {
    case ("notPermitted", "grantRefused"?):
      """
      Your grant has ended or was revoked, so nothing can be asked for under it either. Tell the person: `lanyard grant \
      create` makes another one.
      """
    case ("notPermitted", "tokenRepeated"?):
      "The answer had a token in it, which you never get. Do not send it again; tell the person."
    case ("notPermitted", _) where tool == .request:
      "Your grant does not cover this request. Ask for it with ask_access: the origin, the method, and why. \(unasked)"
    case ("notPermitted", _):
      """
      Your grant does not cover the tool \(tool.rawValue). Go on without it, or ask for it with ask_access: the method \
      \(tool.methods.joined(separator: ", ")), the server that it is about, and why.
      """
    case ("denied", "declined"?):
      """
      The person said no. Do not send it again and do not try another way; tell the person what you wanted and go on without \
      it.
      """
    case ("denied", "notApproved"?):
      """
      No answer came in time. Tell the person that it needs their yes (`lanyard approvals --watch`), and send it again once \
      they are there.
      """
    case ("denied", "budgetExceeded"?):
      "The hourly budget for this is used up. Do not repeat it; go on with something else."
    case ("denied", let reason?) where isForProvider(reason):
      """
      The provider has to confirm the account first, and it did not do so in time. Send it again in a moment; while the \
      provider can't be reached, go on with something else.
      """
    case ("denied", _): "The person's policy does not allow this. Do not try another way; tell the person."
    case ("stepUpRequired", _): "Only the person can confirm this. Tell them, and send it again afterwards."
    case ("originNotAllowed", _):
      "The account is not for that server. Check the address; only the person can add a server to an account."
    case ("accountNotFound", _), ("accountAmbiguous", _): "The tool accounts lists what you may use."
    case ("signedOut", _), ("reauthenticationRequired", _), ("interactionRequired", _), ("dataLocked", _),
      ("agentLocked", _), ("accountLocked", _):
      "Only the person can do that. Tell them; never ask for a password, key or code yourself."
    case ("overloaded", "responseTooLarge"?):
      """
      Ask for less at once, such as one page or fewer fields: the same request gets the same answer. A change may have had \
      its effect: read before you send it again.
      """
    case ("offline", _), ("providerUnavailable", _), ("timedOut", _), ("overloaded", _), ("noAgent", _),
      ("wentAway", _):
      "Try again later. A change whose outcome is unknown may have had its effect: read before you send it again."
    case ("invalidParams", _), ("usage", _): "Correct the arguments."
    default: "Tell the person."
    }
  }

  /// What `ask_access` answers where the grant has all of it already. The person may have allowed it since the last call.
  public static func nothingToAsk(_ request: String) -> String {
    "allowed: your grant has all of this now, so this call asked nobody. \(unasked) (\(request))"
  }

  /// What a grant lacks and `access.request` has no member for.
  private static let unasked = """
    What can't be asked for: an account that your grant does not have (use one of the tool accounts, or tell the \
    person), and a body in a GET or HEAD (send it without).
    """

  /// The first words of a decision that nothing was done by.
  public static func words(for effect: String, reason: String?) -> String {
    switch effect {
    case "allow": "Allowed."
    case "readOnly": "Allowed for reading only."
    case _ where reason.map(isForProvider) == true:
      "Not allowed before the provider confirms the account again. The tool request asks it for that first."
    default: "Not allowed."
    }
  }

  /// The provider's answer may end the denial.
  private static func isForProvider(_ reason: String) -> Bool {
    ["onlineRequired", "freshTokenRequired", "offlineWindowExpired", "snapshotMissing", "snapshotTooOld"].contains(
      reason)
  }
}
