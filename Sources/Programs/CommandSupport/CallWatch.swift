/// What a call to the agent heeds while it waits for its answer: the end of the caller's own client, and whom it tells that it
/// still waits.
public struct CallWatch {
  /// A descriptor that becomes readable when the caller's own client does not want the answer any more; negative: none.
  public var end: Int32 = -1
  /// Called each `intervalMilliseconds` with the whole seconds of the wait.
  public var tell: ((_ seconds: Int) -> Void)?
  public var intervalMilliseconds = 5_000

  private var began = ReadableDescriptor.Deadline.after(milliseconds: 0)
  private var told = 0

  public init(end: Int32 = -1, tell: ((_ seconds: Int) -> Void)? = nil) {
    self.end = end
    self.tell = tell
  }

  mutating func begin() {
    began = .after(milliseconds: 0)
    told = 0
  }

  /// The milliseconds until `tell` is due; -1 without it.
  var pause: Int32 {
    guard tell != nil else { return -1 }
    return Int32(clamping: max(0, (told + 1) * intervalMilliseconds - began.passed))
  }

  mutating func tellIfDue() {
    guard let tell, pause == 0 else { return }
    told = began.passed / intervalMilliseconds
    tell(began.passed / 1_000)
  }
}

extension CommandFailure {
  /// The caller's client gave the call up: the agent was told so.
  public static let withdrawn = CommandFailure(
    .other, name: "withdrawn", "The request was withdrawn before its answer.")
}
