package import AgentModel
package import AgentPorts
package import AgentVault

/// Why no backup was written, or none restored. No half file is left, and nothing was changed.
package enum BackupFailure: Sendable {
  case file(BackupFileFailure)
  case notABackup
  /// A later version of the agent wrote it.
  case newer
  case damaged
  case wrongPassphrase(retryAfter: Milliseconds)
  /// It came during the pause after wrong ones, so that it was neither judged nor counted.
  case passphraseNotTried(retryAfter: Milliseconds)
  case noMemory
  case store(StoreFailure)
  /// While it was written an account was signed out or erased, or a PIN was set.
  case overtaken
}

extension AgentFailure {
  package static func backup(_ failure: BackupFileFailure) -> AgentFailure {
    switch failure {
    case .notABackup: .backup(BackupFailure.notABackup)
    case .store(let failure): backup(failure)
    default: .backup(BackupFailure.file(failure))
    }
  }

  package static func backup(_ failure: BackupFormat.Failure) -> AgentFailure {
    switch failure {
    case .notABackup: .backup(BackupFailure.notABackup)
    case .newer: .backup(BackupFailure.newer)
    case .damaged: .backup(BackupFailure.damaged)
    case .wrongPassphrase: .backup(BackupFailure.wrongPassphrase(retryAfter: Milliseconds(1)))
    case .noMemory: .backup(BackupFailure.noMemory)
    case .store(let failure): backup(failure)
    }
  }

  /// Of the files that a backup passes through, or of the one that it ends in.
  package static func backup(_ failure: StoreFailure) -> AgentFailure {
    switch failure {
    case .newerSchema: .backup(BackupFailure.newer)
    case .corrupt: .backup(BackupFailure.damaged)
    default: .backup(BackupFailure.store(failure))
    }
  }
}
