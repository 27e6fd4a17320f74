import ArgumentParser
import CommandSupport
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
      if common.json { return Output.answer(json: Self.json(trusted.paths)) }
      for path in trusted.paths { Output.answer(Text.shown(path)) }
      if trusted.paths.isEmpty { Output.note("No file is trusted.") }
      return
    }
    // The directory's own file may be gone, and then none above it is meant.
    let own = try start() + "/.lanyard"
    if remove, access(own, F_OK) != 0, try trusted.remove(own) {
      return tell(own, of: nil, isTrusted: false, "Not trusted any more: ")
    }
    guard let file = try DirectoryFile.nearest(to: start()) else {
      throw CommandFailure.usage(
        "There is no .lanyard file in this directory or above.",
        hints: ["Write one: `echo ALIAS > .lanyard`."])
    }
    if remove {
      let outcome = try trusted.remove(file.path) ? "Not trusted any more: " : "Not trusted: "
      return tell(file.path, of: file.account, isTrusted: false, outcome)
    }
    try trusted.insert(file)
    tell(file.path, of: file.account, isTrusted: true, "Trusted: ")
  }

  private func tell(_ path: String, of account: String?, isTrusted: Bool, _ outcome: String) {
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
  private func start() throws(CommandFailure) -> String {
    var place = directory ?? "."
    // The file itself may be named.
    if place.hasSuffix("/.lanyard") { place.removeLast("/.lanyard".count) } else if place == ".lanyard" { place = "." }
    guard let resolved = realpath(place.isEmpty ? "/" : place, nil) else {
      throw .usage("\(place) can't be read: \(SystemError.message(errno)).")
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
