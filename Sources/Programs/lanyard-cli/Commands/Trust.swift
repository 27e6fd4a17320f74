import ArgumentParser
import CommandSupport
import DirectoryFiles
import Glibc
import JSONRPC

/// `lanyard trust`
struct Trust: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let the .lanyard file of a directory choose the account.",
    discussion: """
      A .lanyard file is used only after you trusted it once, so that a directory from elsewhere can't choose an \
      account. After a change it needs your trust again. At a terminal other commands ask, too.

      EXAMPLES:
        echo work > .lanyard && lanyard trust
        lanyard trust --remove
      """)

  @Argument(help: "The directory. Default: this one; the nearest file in it or above is used.", completion: .directory)
  var directory: String?

  @Flag(help: "Stop trusting the file.")
  var remove = false

  @Flag(help: "List the trusted files.")
  var list = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if list, remove || directory != nil { throw ValidationError("--list takes no directory and no --remove.") }
  }

  func run() throws {
    var trusted = TrustedFiles()
    if list {
      let paths = trusted.paths.map(\.shown)
      if common.json { return Output.answer(json: Self.json(paths)) }
      for path in paths { Output.answer(Text.shown(path)) }
      if paths.isEmpty { Output.note("No file is trusted.") }
      return
    }
    let start = try start()
    // The directory's own file may be gone, or no file that can be read, and then none above it is meant.
    let own = start.appending(DirectoryFile.name)
    if remove, trusted.knows(own) {
      try Self.recorded { () throws(TrustedFiles.Failure) in _ = try trusted.remove(own) }
      return tell(own, of: nil, isTrusted: false, "Not trusted any more: ")
    }
    guard let file = try DirectoryFile.nearestToldOf(to: start) else {
      throw CommandFailure.usage(
        "There is no .lanyard file in this directory or above.",
        hints: ["Write one: `echo ALIAS > .lanyard`."])
    }
    let account = try file.namedAccount()
    if remove {
      var wasTrusted = false
      try Self.recorded { () throws(TrustedFiles.Failure) in wasTrusted = try trusted.remove(file.path) }
      return tell(file.path, of: account, isTrusted: false, wasTrusted ? "Not trusted any more: " : "Not trusted: ")
    }
    try Self.recorded { () throws(TrustedFiles.Failure) in try trusted.insert(file) }
    tell(file.path, of: account, isTrusted: true, "Trusted: ")
  }

  private static func recorded(_ change: () throws(TrustedFiles.Failure) -> Void) throws(CommandFailure) {
    do throws(TrustedFiles.Failure) { try change() } catch { throw CommandFailure(error) }
  }

  private func tell(_ path: PathBytes, of account: String?, isTrusted: Bool, _ outcome: String) {
    let path = path.shown
    guard common.json else {
      return Output.done(Text.shown("\(outcome)\(path)\(account.map { ", which names the account \($0)" } ?? "")."))
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("path", path)
    writer.member("account", account)
    writer.member("trusted", isTrusted)
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }

  private static func json(_ paths: [String]) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("trusted", paths)
    writer.endObject()
    return writer.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// The absolute path without symbolic links, as other commands see their working directory.
  private func start() throws(CommandFailure) -> PathBytes {
    var place = directory ?? "."
    // The file itself may be named.
    if place.hasSuffix("/.lanyard") { place.removeLast("/.lanyard".count) } else if place == ".lanyard" { place = "." }
    guard let resolved = PathBytes(place.isEmpty ? "/" : place).resolved else {
      throw .usage("\(place) can't be read: \(SystemError.message(errno)).")
    }
    return resolved
  }
}
