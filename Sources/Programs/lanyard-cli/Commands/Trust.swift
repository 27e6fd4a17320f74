import ArgumentParser
import CommandSupport
import Glibc
import JSONRPC

/// `lanyard trust`
struct Trust: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let the .lanyard file of a directory choose the account.",
    discussion: """
      A .lanyard file counts only after you trusted it once, so that a directory from elsewhere can't choose an \
      account. One that changed is asked for again. At a terminal other commands ask, too.

      EXAMPLES:
        echo work > .lanyard && lanyard trust
        lanyard trust --remove
      """)

  @Argument(help: "The directory. Default: this one; the nearest file in it or above counts.", completion: .directory)
  var directory: String?

  @Flag(help: "Trust the file no longer.")
  var remove = false

  @Flag(help: "List the trusted files.")
  var list = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if list, remove || directory != nil { throw ValidationError("--list goes alone.") }
  }

  func run() throws {
    var trusted = TrustedFiles()
    if list {
      if common.json { return Output.answer(json: Self.json(trusted.paths)) }
      for path in trusted.paths { Output.answer(Text.shown(path)) }
      if trusted.paths.isEmpty { Output.note("No file is trusted.") }
      return
    }
    guard let file = try DirectoryFile.nearest(to: start()) else {
      throw CommandFailure.usage(
        "There is no .lanyard file in this directory or above.",
        hints: ["Write one: `echo ALIAS > .lanyard`."])
    }
    if remove {
      let wasTrusted = try trusted.remove(file.path)
      return tell(file, isTrusted: false, wasTrusted ? "Not trusted any more: " : "Not trusted: ")
    }
    try trusted.insert(file)
    tell(file, isTrusted: true, "Trusted: ")
  }

  private func tell(_ file: DirectoryFile, isTrusted: Bool, _ outcome: String) {
    guard common.json else {
      return Output.answer(Text.shown("\(outcome)\(file.path), which names the account \(file.account)."))
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("path", file.path)
    writer.member("account", file.account)
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
