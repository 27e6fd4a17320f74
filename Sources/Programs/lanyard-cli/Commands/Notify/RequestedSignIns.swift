import CommandSupport
import JSONRPC

/// The event `signIn.requested`: a program began a sign-in and asks the person to complete it.
struct RequestedSignIn {
  let signIn: String
  let provider: String
  let client: String?

  /// Nil for another event.
  init?(_ event: JSONNode) {
    guard event["type"]?.isText("signIn.requested") == true, let signIn = event["data"]?["signIn"]?.string,
      let provider = event["data"]?["provider"]?.string
    else { return nil }
    self.signIn = signIn
    self.provider = provider
    client = event["data"]?["client"]?.string
  }
}

/// The sign-ins that programs began, and of which the person was told.
struct RequestedSignIns {
  private let desktop: DesktopNotifications
  private var told: [(request: RequestedSignIn, number: UInt32)] = []

  /// More than a person can answer. A program that begins more replaces its first ones.
  private static let mostTold = 16

  /// How often the agent is asked whether these are over: the end of a sign-in that failed is no event.
  static let intervalMilliseconds: Int32 = 15_000

  init(desktop: DesktopNotifications) { self.desktop = desktop }

  var isEmpty: Bool { told.isEmpty }

  /// Tells of a sign-in, in the place of an earlier one at the same provider.
  mutating func tell(_ request: RequestedSignIn) throws(CommandFailure) {
    guard !told.contains(where: { $0.request.signIn == request.signIn }) else { return }
    let outdated = told.firstIndex { $0.request.provider == request.provider }
    if let index = outdated ?? (told.count >= Self.mostTold ? 0 : nil) {
      desktop.close(told.remove(at: index).number)
    }
    // Without an action: only the program that began the sign-in has its page. Another sign-in could make a second account.
    let number = try desktop.show(
      title: Text.shown("\(request.client ?? "A program") asks you to sign in"),
      text: Text.shown("At \(request.provider). The program shows the address of the page."))
    told.append((request, number))
  }

  /// Takes back what is over.
  mutating func update(via agent: inout AgentConnection) throws(CommandFailure) {
    for (request, number) in told where try !Self.isPending(request.signIn, via: &agent) {
      desktop.close(number)
      told.removeAll { $0.number == number }
    }
  }

  private static func isPending(_ signIn: String, via agent: inout AgentConnection) throws(CommandFailure) -> Bool {
    do throws(CommandFailure) {
      return try agent.call("signIn.wait") { writer in
        writer.member("signIn", signIn)
        writer.key("timeoutSeconds")
        writer.integer(0)
      } result: { (result) throws(CommandFailure) in
        result["status"]?.isText("pending") == true
      }
    } catch {
      // Its error is that of the sign-in, which is over then.
      guard error.wire != nil else { throw error }
      return false
    }
  }
}
