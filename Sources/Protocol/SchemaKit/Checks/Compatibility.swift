/// Compares the contract with an earlier one.
///
/// Every request of an earlier client must stay valid, and every member that it reads must stay in results. Additions
/// are compatible.
public struct Compatibility {
  private let old: Contract
  private let new: Contract
  private var problems: [Problem] = []

  /// Every change that breaks clients of the earlier contract; empty if there is none.
  public static func problems(from old: Contract, to new: Contract) -> [Problem] {
    var compatibility = Compatibility(old: old, new: new)
    compatibility.compare()
    return compatibility.problems
  }

  private init(old: Contract, new: Contract) {
    self.old = old
    self.new = new
  }

  /// Whether the client sends a value or reads it.
  private enum Direction { case sent, received }

  private mutating func compare() {
    for method in old.methods {
      guard let now = new.method(method.name) else {
        report("methods/\(method.name).json", "the method is gone")
        continue
      }
      compare(method, now)
    }
    for event in old.events {
      guard let now = new.event(event.name) else {
        report("events/\(event.name).json", "the event is gone")
        continue
      }
      let path = "events/\(event.name).json"
      if event.accountScoped && !now.accountScoped { report(path + "/accountScoped", "it no longer names the account") }
      compare(event.data, now.data, .received, path + "/data")
    }
    compareErrors()
    for name in ["errorData", "eventNotification"] {
      let schema = Schema(kind: .reference(name), isSecret: false)
      if old.type(name) != nil { compare(schema, schema, .received, "types/\(name).json") }
    }
    compare(old.policy, new.policy, .sent, "policy.schema.json")
  }

  private mutating func report(_ pointer: String, _ text: String) { problems.append(Problem(pointer, text)) }

  private mutating func compare(_ method: Method, _ now: Method) {
    let path = "methods/\(method.name).json"
    if method.since != now.since { report(path + "/since", "it says \(now.since), not \(method.since)") }
    if method.feature != now.feature { report(path + "/feature", "it says \(now.feature), not \(method.feature)") }
    if method.accountScoped != now.accountScoped { report(path + "/accountScoped", "it changed") }
    if method.ordering == .connection, now.ordering == .concurrent {
      report(path + "/ordering", "it is no longer ordered")
    }
    if method.idempotent, !now.idempotent { report(path + "/idempotent", "it is no longer idempotent") }
    if method.carriesBody, !now.carriesBody { report(path + "/carriesBody", "its line may no longer be long") }
    compare(method.params, now.params, .sent, path + "/params")
    compare(method.result, now.result, .received, path + "/result")
  }

  private mutating func compareErrors() {
    for error in old.errors {
      guard let now = new.error(error.name) else {
        report("errors.json", "\(error.name) is gone")
        continue
      }
      if now.code != error.code { report("errors.json", "\(error.name) has code \(now.code), not \(error.code)") }
      if now.retryable != error.retryable { report("errors.json", "\(error.name) changed retryable") }
      for name in error.data where !now.data.contains(name) {
        report("errors.json", "\(error.name) no longer has \(name)")
      }
    }
  }

  private mutating func compare(_ was: Schema, _ now: Schema, _ direction: Direction, _ path: String) {
    if was.defaultValue != now.defaultValue { report(path, "its default changed") }
    let was = old.resolved(was)
    let now = new.resolved(now)
    if was.isSecret, !now.isSecret { report(path, "it is no longer a secret") }
    switch (was.kind, now.kind) {
    case (.object(let was), .object(let now)): compare(was, now, direction, path)
    case (.map(let was), .map(let now)): compare(was, now, direction, path)
    case (.array(let was), .array(let now)):
      compare(was.items, now.items, direction, path + "/items")
      compare(was.count, now.count, direction, path, "items")
    case (.string(let was), .string(let now)): compare(was, now, direction, path)
    case (.enumeration(let was), .enumeration(let now)):
      for word in was where !now.contains(word) { report(path, "\(word) is gone") }
    case (.integer(let was), .integer(let now)): compare(was, now, direction, path, "value")
    case (.boolean, .boolean), (.anything, .anything): break
    case (.anything, _) where direction == .received: break
    case (_, .anything) where direction == .sent: break
    // An enumeration that becomes a string: every earlier word must stay valid.
    case (.enumeration(let words), .string) where direction == .sent:
      for word in words where !new.validate(.string(word), against: now).isEmpty { report(path, "\(word) is gone") }
    default: report(path, "its type changed")
    }
  }

  private mutating func compare(
    _ was: Schema.ObjectShape, _ now: Schema.ObjectShape, _ direction: Direction, _ path: String
  ) {
    for member in was.members {
      let path = path + "/properties/" + member.name
      guard let same = now.members.first(where: { $0.name == member.name }) else {
        report(path, "the member is gone")
        continue
      }
      compare(member.schema, same.schema, direction, path)
      switch direction {
      case .sent: if !member.isRequired, same.isRequired { report(path, "it is required now") }
      case .received: if member.isRequired, !same.isRequired { report(path, "it is no longer always there") }
      }
    }
    guard direction == .sent else { return }
    for member in now.members where member.isRequired && !was.members.contains(where: { $0.name == member.name }) {
      report(path + "/properties/" + member.name, "a new member is required")
    }
    if !was.isClosed, now.isClosed { report(path, "unknown members are refused now") }
    if was.exclusive != now.exclusive, !now.exclusive.isEmpty { report(path, "members exclude each other now") }
    if now.minimumMembers > was.minimumMembers { report(path, "more members are wanted now") }
  }

  private mutating func compare(
    _ was: Schema.MapShape, _ now: Schema.MapShape, _ direction: Direction, _ path: String
  ) {
    switch (was.values, now.values) {
    case (let was?, let now?): compare(was, now, direction, path + "/additionalProperties")
    case (nil, .some) where direction == .sent: report(path, "its values are restricted now")
    case (.some, nil) where direction == .received: report(path, "its values are no longer described")
    default: break
    }
    guard direction == .sent else { return }
    switch (was.names, now.names) {
    case (let was?, let now?): compare(was, now, direction, path + "/propertyNames")
    case (nil, .some): report(path, "its names are restricted now")
    default: break
    }
    compare(0...was.maximumMembers, 0...now.maximumMembers, direction, path, "members")
  }

  private mutating func compare(
    _ was: Schema.StringShape, _ now: Schema.StringShape, _ direction: Direction, _ path: String
  ) {
    compare(was.length, now.length, direction, path, "length")
    switch direction {
    case .sent: if let pattern = now.pattern, pattern != was.pattern { report(path, "its pattern changed") }
    case .received: if let pattern = was.pattern, pattern != now.pattern { report(path, "its pattern changed") }
    }
    if was.format != now.format { report(path, "its format changed") }
  }

  /// A range of sent values must not shrink; a range of read values may change.
  private mutating func compare(
    _ was: ClosedRange<Int>, _ now: ClosedRange<Int>, _ direction: Direction, _ path: String, _ what: String
  ) {
    guard direction == .sent, now.lowerBound > was.lowerBound || now.upperBound < was.upperBound else { return }
    report(path, "its \(what) may no longer be \(was.lowerBound) to \(was.upperBound)")
  }
}
