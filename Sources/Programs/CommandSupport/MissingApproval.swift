/// Why a request that needs a person's yes was refused: the reasons of error 4001 that only a person lifts.
public enum MissingApproval: String, Sendable {
  /// There was no verdict in time.
  case notApproved
  /// A person said no.
  case declined

  /// What happened, for the person and for a program.
  public var message: String {
    switch self {
    case .notApproved: "This request needs a person's yes, and none came in time."
    case .declined: "A person said no to this request."
    }
  }

  /// What helps: one sentence with the command.
  public var hint: String {
    switch self {
    case .notApproved:
      "Send it again while somebody can decide: `lanyard approvals --watch` asks in a terminal, `lanyard notify` on the "
        + "desktop."
    case .declined:
      "The same request is refused for a minute. The person who said no can be asked for a reason; `lanyard audit` has "
        + "the entry."
    }
  }
}
