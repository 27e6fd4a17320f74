package import DirectoryFiles
internal import Glibc

extension DirectoryFile {
  /// The nearest file, from the working directory upward. Warns about a file that others may write and passes it over.
  ///
  /// - Throws: a usage failure for a file of the person that can't be read.
  package static func nearest() throws(CommandFailure) -> DirectoryFile? {
    guard let directory = PathBytes.workingDirectory else {
      let reason = errno == ENOENT ? "it is gone" : SystemError.message(errno)
      throw .usage(
        "The working directory can't be read: \(reason). No account was chosen.",
        hints: ["Go to another directory, or name the account in the command."])
    }
    return try nearestToldOf(to: directory)
  }

  /// The nearest file, from a directory upward.
  package static func nearestToldOf(to directory: PathBytes) throws(CommandFailure) -> DirectoryFile? {
    do throws(DirectoryFileFault) {
      return try nearest(to: directory) { fault in
        Output.warning("\(Text.shown(fault.path.shown)) \(fault.reason.text), so it is ignored.")
      }
    } catch {
      throw CommandFailure(error)
    }
  }

  /// The nearest file, from the working directory upward, if the person trusts it: for helpers, which run without a
  /// person who could be asked.
  ///
  /// - Throws: a failure for a file that the person trusted and that has changed, or can't be read now.
  static func trustedNearest() throws(CommandFailure) -> DirectoryFile? {
    guard let directory = PathBytes.workingDirectory else { return nil }
    do throws(DirectoryFileFault) { return try TrustedFiles().nearest(to: directory) } catch {
      throw CommandFailure(error)
    }
  }

  /// The account that the file names.
  package func namedAccount() throws(CommandFailure) -> String {
    guard let account else { throw CommandFailure(DirectoryFileFault(path: path, reason: .noAccount)) }
    return account
  }

  /// True if the person trusts this file as it is now.
  package var isTrusted: Bool { TrustedFiles().contains(self) }

  /// Asks the person once whether this file may choose the account.
  ///
  /// - Throws: a usage failure if the person declines, or can't be asked.
  func requireTrust() throws(CommandFailure) {
    var trusted = TrustedFiles()
    guard !trusted.contains(self) else { return }
    let account = try namedAccount()
    let path = path.shown
    let change = trusted.knows(self.path) ? "changed: it now names" : "names"
    guard Terminal.canAsk else {
      throw CommandFailure(
        .usage, name: "untrustedDirectory",
        "\(path) \(change) the account \(account), and you do not trust it yet. No account was chosen.",
        hints: ["`lanyard trust` trusts it as it is. Or name the account in the command."])
    }
    let question = "\(path) \(change) the account \(account) for this directory. Trust it?"
    guard Terminal.confirm(Text.shown(question)) else {
      throw CommandFailure(
        .usage, name: "untrustedDirectory", "\(path) is not trusted. No account was chosen.",
        hints: ["Name the account in the command."])
    }
    do throws(TrustedFiles.Failure) { try trusted.insert(self) } catch { throw CommandFailure(error) }
  }
}

extension CommandFailure {
  /// A `.lanyard` file that names no account, has changed, or can't be read. No other account is chosen in its place.
  package init(_ fault: DirectoryFileFault) {
    self = .usage("\(fault.path.shown) \(fault.reason.text). No account was chosen.", hints: [fault.reason.remedy])
    if fault.reason == .changed { name = "untrustedDirectory" }
  }

  /// The list of trusted files could not be written.
  package init(_ failure: TrustedFiles.Failure) {
    self.init(.other, name: "system", "The trust could not be recorded: \(failure.reason).")
  }
}

extension DirectoryFileFault.Reason {
  fileprivate var remedy: String {
    switch self {
    case .noAccount, .noText, .tooLarge:
      "Write one line into it: `account = ALIAS`, or an id. Comments begin with #."
    case .link, .otherKind:
      "Write a file in its place: `account = ALIAS`, or an id. Or name the account in the command."
    case .changed: "`lanyard trust` trusts it as it is."
    case .system, .foreignOwner, .openToOthers: "Name the account in the command."
    }
  }
}
