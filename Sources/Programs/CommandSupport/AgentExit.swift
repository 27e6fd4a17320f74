internal import Glibc

/// Why a new agent ended at once (docs/protocol.md, Programs).
public enum AgentExit {
  case usage, unsafeDirectory, storeFailure, alreadyRunning, vaultNotOpened
  case other(Int32)
  case signal(Int32)

  /// Reaps the children of this process; nil while the agent runs.
  ///
  /// The agent's broker becomes a child of this process, too, when the agent ends. It ends by itself or is killed, so that
  /// only such an end of the last child is the agent's.
  static func ofChild() -> AgentExit? {
    var quiet: AgentExit?
    var status: Int32 = 0
    while true {
      let child = waitpid(-1, &status, WNOHANG)
      guard child > 0 else { return child < 0 ? quiet : nil }
      let exit = meaning(of: status)
      switch exit {
      case .other(0), .signal(SIGKILL): quiet = exit
      default: return exit
      }
    }
  }

  private static func meaning(of status: Int32) -> AgentExit {
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

  var message: String {
    switch self {
    case .usage:
      "The agent did not accept its options or its configuration file (exit 64)."
    case .unsafeDirectory:
      "A directory of the agent can't be created, or others may write to it (exit 73). Nothing was written there."
    case .storeFailure: "The agent's store can't be read or written (exit 74). Nothing was lost."
    case .alreadyRunning:
      "Another agent holds this state directory (exit 75)."
    case .vaultNotOpened:
      "The agent can't open its vault (exit 76): the key is wrong, or the store is damaged, old, foreign, or gone."
    case .other(let code): "The agent ended at once (exit \(code))."
    case .signal(let number): "Signal \(number) ended the agent at once."
    }
  }

  public static let hintIfHeld =
    "If it listens at another socket, set LANYARD_SOCKET to that one. If not, wait for its end, or end it."

  var hints: [String] {
    switch self {
    case .alreadyRunning: [Self.hintIfHeld]
    case .unsafeDirectory: ["`lanyard doctor` says which directory is at fault, and what helps."]
    case .storeFailure where Self.isDiskFull: ["The disk under it is full: make room there, then try again."]
    case .storeFailure, .vaultNotOpened: ["`lanyard doctor` says what is wrong with the store."]
    default: []
    }
  }

  /// Less than a store needs to begin is free where the state is.
  private static var isDiskFull: Bool {
    var room = statvfs()
    guard let state = AgentPaths.stateDirectory, statvfs(state, &room) == 0 else { return false }
    return UInt64(room.f_bavail) * UInt64(room.f_frsize) < 64 << 10
  }
}
