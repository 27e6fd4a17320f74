package import AgentPorts

/// The messages of a store or a backup that fails.
extension StoreFailure {
  var message: String {
    guard self != .missing else {
      return """
        The store's files were removed or replaced under the running agent, so nothing can be written. What needs no \
        write is still done. Put the state directory back, or end the agent (`lanyard stop`): the next start \
        says what to do.
        """
    }
    guard self != .corrupt else {
      return """
        The store's file is damaged, and what this needs of it can't be read. What needs nothing of it is still done. Put the \
        newest copy of the state directory back, or `lanyard restore` a backup; `lanyard doctor` says more.
        """
    }
    let remedy = self == .full ? " Make room on the disk, then try again." : ""
    return "The store can't be used now: \(cause). Nothing was lost; what needs no write is still done." + remedy
  }

  package var cause: String {
    switch self {
    case .full: "the disk is full"
    case .readOnly: "it can only be read"
    case .inputOutput: "the disk reported an error"
    case .corrupt: "the file is damaged"
    case .busy: "another program holds it"
    case .closed: "it is closed"
    case .unsafePermissions: "others could read or replace its files"
    case .link(let name): "the file `\(name)` is a symbolic link, and the store follows none"
    case .noFile(let name):
      "something else stands in the place of the file `\(name)`: a directory or a pipe, for example"
    case .hardLinked(let name):
      "the file `\(name)` has a second name (a hard link), so that others could read or replace it by that name"
    case .missing: "its files are gone"
    case .newerSchema: "a later version of the agent wrote it"
    }
  }
}

extension BackupFailure {
  var message: String {
    switch self {
    case .file(.noPath): "The path must be absolute, and name a file."
    case .file(.exists): "This path exists already. Nothing was changed there; name another file."
    case .file(.noDirectory):
      "There is no such directory, or it is a symbolic link. Nothing was written."
    case .file(.notFound): "There is no such file. Nothing was changed."
    case .file(.forbidden): "You may not read or write there. Nothing was changed."
    case .notABackup, .file(.notABackup): "This is not a backup of Lanyard. Nothing was changed."
    case .newer:
      "A later version of the agent wrote this backup. Update the agent; nothing was changed."
    case .damaged:
      "The backup is damaged, or was changed after it was written. Nothing was restored; use another copy of it."
    case .wrongPassphrase(let pause):
      "This passphrase does not open the backup. Nothing was changed. \(PassphraseFailure.again(after: pause))"
    case .passphraseNotTried(let pause): PassphraseFailure.notTried(retryAfter: pause).message
    case .noMemory: "There was not enough memory to derive a key from the passphrase. Nothing was changed; try again."
    case .store(let failure), .file(.store(let failure)):
      "This could not be done: \(failure.cause). No incomplete file is left, and nothing was lost."
    case .overtaken:
      "While the backup was written an account was signed out or erased, or a PIN was set. No backup was kept; make it again."
    }
  }
}
