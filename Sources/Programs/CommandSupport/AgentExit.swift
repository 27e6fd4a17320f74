internal import Glibc

/// How an agent that was just started ended (docs/protocol.md, Programs).
enum AgentExit {
  case usage, unsafeDirectory, storeFailure, alreadyRunning, vaultNotOpened
  case other(Int32)
  case signal(Int32)

  /// The end of a child of this process; nil while it runs.
  static func ofChild() -> AgentExit? {
    var status: Int32 = 0
    guard waitpid(-1, &status, WNOHANG) > 0 else { return nil }
    // WIFSIGNALED and WEXITSTATUS are macros that Swift does not see.
    if status & 0x7F != 0 { return .signal(status & 0x7F) }
    switch (status >> 8) & 0xFF {
    case 64: return .usage
    case 73: return .unsafeDirectory
    case 74: return .storeFailure
    case 75: return .alreadyRunning
    case 76: return .vaultNotOpened
    case let code: return .other(code)
    }
  }

  var words: String {
    switch self {
    case .usage:
      "The agent did not understand how it was started (exit 64): it is of another version than this program."
    case .unsafeDirectory:
      "A directory of the agent can't be made, or others may write to it (exit 73). Nothing was written there."
    case .storeFailure: "The agent's store can't be read or written (exit 74). Nothing was lost."
    case .alreadyRunning:
      "Another agent holds this state directory, but does not listen at this socket (exit 75)."
    case .vaultNotOpened:
      "The agent's vault can't be opened (exit 76): its key is not the right one, or the store is damaged or older than it was."
    case .other(let code): "The agent ended at once (exit \(code))."
    case .signal(let number): "The agent was ended at once by signal \(number)."
    }
  }

  var hints: [String] {
    switch self {
    case .alreadyRunning: ["Set LANYARD_SOCKET to the socket that it listens at, or end it first."]
    case .unsafeDirectory: ["The agent's directories belong to you alone: `chmod 700` them, or name others."]
    default: []
    }
  }
}
