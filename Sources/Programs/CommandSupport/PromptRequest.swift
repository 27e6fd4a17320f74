internal import DirectoryFiles
internal import JSONRPC

/// `lanyard prompt`: the account that is used here, for the prompt of a shell. It never waits for long, starts no agent
/// and asks nothing.
public struct PromptRequest {
  public var account: String?
  public var option: String?
  public var json = false

  /// A prompt is printed before each command: it rather says nothing than being late.
  private static let longestMilliseconds: Int32 = 200

  public init() {}

  /// Prints a line, or nothing without an agent or an account.
  public func run() {
    let selection: AccountSelection
    do throws(CommandFailure) {
      selection = try AccountSelection.choose(argument: account, option: option, asksTrust: false)
    } catch {
      // A file that names no account, or can't be read, chooses none either. In a directory that is gone there is none.
      guard account == nil, option == nil, PathBytes.workingDirectory != nil else { return }
      return print(Fragment(label: ".lanyard", state: "untrusted"))
    }
    guard selection.isTrusted else { return print(Fragment(label: ".lanyard", state: "untrusted")) }
    guard let fragment = try? ask(for: selection) else { return }
    print(fragment)
  }

  /// What is printed.
  struct Fragment: Sendable {
    var label: String
    var state: String

    /// One sign for what is to be done: `!` the person is needed, `~` offline, `?` not trusted or not there, or a locked
    /// vault, `x` signed out or disabled.
    var sign: String {
      switch state {
      case "active": ""
      case "offlineStale": "~"
      case "interactionRequired", "reauthenticationRequired": "!"
      case "signedOut", "locked": "x"
      default: "?"
      }
    }
  }

  private func ask(for selection: AccountSelection) throws(CommandFailure) -> Fragment? {
    var agent = try Agent.connect(mayStart: false, tellsWaiting: false)
    let id = try agent.send("account.get") { $0.member("account", selection.selector) }
    var fragment: Fragment?
    do throws(CommandFailure) {
      while fragment == nil {
        fragment = try agent.answer(to: id) { (result) throws(CommandFailure) in
          Fragment(
            label: result["alias"]?.string ?? result["email"]?.string ?? result["id"]?.string ?? "",
            state: result["state"]?.string ?? "")
        }
        guard fragment == nil else { break }
        guard try agent.wait(interruption: nil, milliseconds: Self.longestMilliseconds) == .bytes else { return nil }
      }
    } catch {
      switch error.name {
      case "agentLocked": return Fragment(label: "locked", state: "vaultLocked")
      case "accountNotFound" where !selection.reason.isActive:
        return Fragment(label: selection.selector, state: "unknown")
      default: return nil
      }
    }
    return fragment
  }

  private func print(_ fragment: Fragment) {
    guard json else { return Output.answer(Text.shown(fragment.label) + fragment.sign) }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("label", fragment.label)
    writer.member("state", fragment.state)
    writer.member("sign", fragment.sign)
    writer.endObject()
    writer.withBytes { Output.answer(json: $0) }
  }
}

extension PromptRequest {
  /// Parses the arguments after `lanyard`. Nil unless they are `prompt` and valid options: then `lanyard-cli` takes over
  /// and reports the mistake. `Commands/Prompt.swift` in `lanyard-cli` declares the same options.
  public init?(arguments: some Sequence<String>) {
    var words = arguments.makeIterator()
    guard words.next() == "prompt" else { return nil }
    self.init()
    while let word = words.next() {
      switch word {
      case "-u", "--account":
        guard let account = words.next(), !account.hasPrefix("-") else { return nil }
        option = account
      case "--json": json = true
      case "--no-start", "-q", "--quiet": break
      default:
        guard !word.hasPrefix("-"), account == nil else { return nil }
        account = word
      }
    }
  }
}

extension AccountSelection.Reason {
  fileprivate var isActive: Bool { if case .active = self { true } else { false } }
}
