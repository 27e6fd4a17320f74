internal import AgentModel
internal import AgentPorts
internal import AgentProtocol

extension AgentFailure {
  static func wrongBackupPassphrase(retryAfter: Milliseconds) -> AgentFailure {
    AgentFailure(.unlockFailed, "This passphrase does not open the backup. Nothing was changed; try again.").with {
      $0.retryAfter = retryAfter
    }
  }

  static let damagedBackup = AgentFailure(
    .integrity, "The backup is damaged, or is not what was written. Nothing was changed; use another copy of it."
  ).with { $0.remedies = [.administrator] }

  private static let notABackup = badPath(
    "a file that `agent.backup` wrote", "This is no backup of Lanyard. Nothing was changed.")

  private static let newerBackup = badPath(
    "a backup of this version of the agent, or of an earlier one",
    "A later version of the agent wrote this backup. Update the agent; nothing was changed.")

  private static func badPath(_ expected: String, _ message: String) -> AgentFailure {
    invalidParams("/path", expected: expected).with { $0.message = message }
  }

  static func backup(_ failure: BackupFileFailure) -> AgentFailure {
    switch failure {
    case .noPath: badPath("an absolute path of a file", "The path must be absolute, and name a file.")
    case .exists:
      badPath(
        "a path at which nothing stands yet",
        "Something stands at this path already. It was not touched; name another file.")
    case .noDirectory:
      badPath(
        "a path in a directory that is there",
        "There is no such directory, or a symbolic link stands in its place. Nothing was written.")
    case .notFound:
      AgentFailure(.notFound, "There is no such file. Nothing was changed.").with {
        $0.details = [("kind", .text("file"))]
      }
    case .notABackup: notABackup
    case .forbidden:
      badPath("a place that you may use", "You may not read or write there. Nothing was changed.")
    case .store(let failure): backup(failure)
    }
  }

  static func backup(_ failure: BackupFormat.Failure) -> AgentFailure {
    switch failure {
    case .notABackup: notABackup
    case .newer: newerBackup
    case .damaged: damagedBackup
    case .wrongPassphrase: wrongBackupPassphrase(retryAfter: Milliseconds(1))
    case .noMemory: AgentFailure(.storeUnavailable, "There was not enough memory to make a key from the passphrase.")
    case .store(let failure): backup(failure)
    }
  }

  /// Of the files that a backup passes through, or of the one that it ends in.
  static func backup(_ failure: StoreFailure) -> AgentFailure {
    switch failure {
    case .newerSchema: newerBackup
    case .corrupt: damagedBackup
    default:
      AgentFailure(
        .storeUnavailable, "This could not be done: \(failure.words). No half file is left, and nothing was lost."
      ).with {
        $0.reason = failure.reason
        $0.retryAfter = .seconds(5)
      }
    }
  }
}
