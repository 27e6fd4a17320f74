internal import AgentModel
internal import CommandSupport
internal import MCPBridge
internal import Synchronization

extension Authorizer {
  /// Shows the page of a sign-in on stderr, once.
  func show(_ pending: PendingSignIn) {
    let isNew = shown.withLock { shown in
      defer { shown = pending.signIn }
      return shown != pending.signIn
    }
    guard isNew else { return }
    // On a line of its own, and unbroken.
    Output.instruction(
      "lanyard mcp: Sign in to \(options.url.origin): open this page.\n\(Text.shown(pending.page))", isLaidOut: true)
  }
}
