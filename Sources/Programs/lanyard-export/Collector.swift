internal import AgentModel
internal import AuditExport
internal import CommandSupport

/// What became of records that were sent.
struct Delivery {
  /// The collector has so many, from the first on, or has refused them for good.
  var taken = 0
  /// So many of these were refused for good.
  var refused: Int64 = 0
  /// Why the collector takes no more now.
  var trouble: Trouble?
}

/// What keeps a destination from going on.
struct Trouble: Error {
  /// A sentence for the person, without a secret.
  var text: String
  /// The least time that the collector asks for.
  var asked: Milliseconds?
  /// That of a single run, which ends with it.
  var status: ExitStatus

  init(_ text: String, asked: Milliseconds? = nil, status: ExitStatus = .providerUnreachable) {
    self.text = text
    self.asked = asked
    self.status = status
  }
}

/// A place that takes records.
protocol Collector {
  /// The most records of one call.
  var most: Int { get }
  /// Sends records in their order. Returns within a minute.
  func send(_ records: [ExportRecord]) -> Delivery
}
