/// The line "waiting for practice… 5 s" on the terminal of a person whose command waits: from the third second on, until
/// the answer comes. Without a terminal, and with `--quiet`, it shows nothing.
public struct WaitingLine: ~Copyable {
  /// A person who waits longer without a word thinks that the command hangs.
  private static let silentMilliseconds = 2_000

  private let began: ReadableDescriptor.Deadline
  private let isAllowed: Bool
  private var name: String?
  private var line: StatusLine?
  /// The second that the line shows.
  private var shown: Int?

  public init() { self.init(isAllowed: true) }

  /// - Parameter waited: the milliseconds that the command has waited already.
  init(isAllowed: Bool = true, waited: Int32 = 0) {
    self.isAllowed = isAllowed
    began = .after(milliseconds: -waited)
  }

  deinit {
    var line = line
    line?.clear()
  }

  /// The milliseconds until `show` has something new to say; -1 if it never has.
  public var pause: Int32 {
    guard isAllowed else { return -1 }
    let passed = began.passed
    // Ask for the terminal only once a wait is long: most commands end before.
    guard passed >= Self.silentMilliseconds else { return Int32(Self.silentMilliseconds - passed) }
    return Self.canShow ? Int32(1_000 - passed % 1_000) : -1
  }

  private static var canShow: Bool { Terminal.showsNotes && !Output.isQuiet }

  /// Shows the line if the wait for `subject` is long enough.
  public mutating func show(_ subject: String) { show { subject } }

  /// Shows the line if the wait is long enough. `subject` says once what is waited for; an empty
  /// text shows no line.
  mutating func show(_ subject: () -> String?) {
    let passed = began.passed
    guard isAllowed, passed >= Self.silentMilliseconds, Self.canShow else { return }
    if name == nil { name = subject() ?? "the agent" }
    guard name != "" else { return }
    let second = passed / 1_000
    guard second != shown else { return }
    shown = second
    line = line ?? StatusLine()
    line?.show("waiting for \(name ?? "")… \(second) s")
  }

  /// Waits until the descriptor is readable; false if it is not in time.
  mutating func waits(for descriptor: Int32, until deadline: ReadableDescriptor.Deadline) -> Bool {
    while true {
      let pause = pause
      let next = pause < 0 ? deadline.left : min(pause, deadline.left)
      if ReadableDescriptor.waits(for: descriptor, until: .after(milliseconds: next)) {
        clear()
        return true
      }
      guard deadline.left > 0 else {
        clear()
        return false
      }
      show { nil }
    }
  }

  /// Waits until the descriptor is readable, as long as it takes.
  mutating func waitUntilReadable(_ descriptor: Int32) {
    while !ReadableDescriptor.waits(for: descriptor, until: .after(milliseconds: pause < 0 ? .max : pause)) {
      show { nil }
    }
    clear()
  }

  /// Takes the line away before something else is shown.
  public mutating func clear() {
    line?.clear()
    shown = nil
  }
}
