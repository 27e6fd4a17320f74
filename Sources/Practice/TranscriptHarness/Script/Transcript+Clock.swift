internal import AgentModel

extension Transcript {
  /// The time at which the transcript begins (`@clock`): 2030 by default.
  var start: Timestamp {
    get throws(TranscriptProblem) {
      for step in steps {
        guard case .directive("clock", let text) = step.action else { continue }
        let instant = /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z/
        guard let parts = text.wholeMatch(of: instant)?.output else {
          throw TranscriptProblem(name, line: step.line, "\(text) is no instant like 2030-01-01T00:00:00Z")
        }
        return Timestamp(
          year: Int64(parts.1)!, month: Int64(parts.2)!, day: Int64(parts.3)!, hour: Int64(parts.4)!,
          minute: Int64(parts.5)!, second: Int64(parts.6)!)
      }
      return Timestamp(year: 2030, month: 1, day: 1)
    }
  }
}
