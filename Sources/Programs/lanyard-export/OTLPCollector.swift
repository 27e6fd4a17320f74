internal import AgentModel
internal import AuditExport
internal import CommandSupport
internal import CurlTransfers
internal import FileRules
internal import Glibc
internal import JSONRPC
internal import StreamingHTTP

/// An OTLP/HTTP receiver: a batch is one request in JSON.
final class OTLPCollector: Collector {
  private let url: HTTPURL
  private let client = HTTPClient()
  /// `caFile` of the destination.
  private let authorities: String?
  private let headersFile: String?
  private let agent: String
  private let host: String?
  /// Whose access token goes along; nil for none.
  private let account: String?
  private let reader: LogReader
  /// The most records of a batch now: halved where the receiver can't read one.
  private var limit = largest
  /// The receiver took a batch since it last refused a single record: it is set up right, and that record is at fault.
  private var hasTaken = false

  private static let largest = 500
  var most: Int { limit }

  /// For a whole request; OpenTelemetry's own exporters wait for so long.
  private static let requestMilliseconds = 10_000
  private static let largestAnswer = 64 << 10
  private static let largestHeaders = 64 << 10

  /// - Parameter reader: asks for tokens, on the same thread.
  init(
    _ destination: AuditDestination, agent: String, host: String?, reader: LogReader
  ) throws(CommandFailure) {
    guard let url = destination.url.flatMap(AuditDestination.endpoint) else {
      throw .usage("The destination \(destination.name) needs an https URL, or an http URL of this machine.")
    }
    self.url = url
    authorities = destination.caFile
    headersFile = destination.headersFile
    self.agent = agent
    self.host = host
    account = destination.account
    self.reader = reader
  }

  func send(_ records: [ExportRecord]) -> Delivery {
    do throws(Trouble) {
      return try delivery(of: try post(records), records)
    } catch {
      return Delivery(trouble: error)
    }
  }

  private func post(_ records: [ExportRecord]) throws(Trouble) -> OTLPAnswer {
    var request = OutgoingRequest("POST", url, fields: [RequestField("Content-Type", "application/json")])
    request.headMilliseconds = Self.requestMilliseconds
    request.totalMilliseconds = Self.requestMilliseconds
    do throws(CommandFailure) {
      try addCredentials(to: &request)
    } catch {
      throw Trouble(error.message, status: error.status)
    }
    var writer = JSONWriter(capacity: 1024 * records.count)
    OTLPFormat.write(
      records, agent: agent, host: host, version: Version.text, now: Moment.wall.milliseconds, to: &writer)
    let body = writer.withBytes { WipedBytes($0) }
    var (head, answer): (ReceivedHead?, [UInt8]) = (nil, [])
    let result = client.perform(
      request, body: .bytes(body),
      onHead: { received in
        head = received
        return true
      },
      onBody: { bytes in
        guard answer.count + bytes.count <= Self.largestAnswer else { return false }
        answer.append(contentsOf: bytes)
        return true
      })
    guard let head, result == .complete || result == .stopped else { throw Trouble(text(result)) }
    return OTLPAnswer(status: head.status, retryAfter: head.field("retry-after"), body: answer, now: Moment.wall)
  }

  private func delivery(of answer: OTLPAnswer, _ records: [ExportRecord]) throws(Trouble) -> Delivery {
    let count = records.count
    switch answer {
    case .taken(let rejected, let message):
      hasTaken = true
      limit = min(Self.largest, limit * 2)
      if rejected > 0 {
        let why = message.map { ": \(Text.shown($0))" } ?? ""
        Output.warning("\(url.origin) refused \(min(rejected, Int64(count))) of \(count) entries for good\(why).")
      }
      return Delivery(taken: count, refused: min(rejected, Int64(count)))
    case .later(let status, let after):
      throw Trouble("\(url.origin) answers \(status).", asked: after)
    case .refused(let status):
      if count > 1 {
        limit = max(1, count / 2)
        // At once: the smaller batch may do.
        return Delivery()
      }
      var isAtFault = hasTaken
      if !isAtFault { isAtFault = try takes(records[0].refused(status: status)) }
      guard isAtFault else {
        throw Trouble("\(url.origin) can't read the entries: it answers \(status).")
      }
      hasTaken = false
      Output.warning("\(url.origin) refused an entry for good: it answers \(status).")
      return Delivery(taken: 1, refused: 1)
    case .misdirected(let status) where (300..<400).contains(status):
      throw Trouble("\(url.origin) answers \(status), which leads elsewhere. Name the address itself.")
    case .misdirected(let status):
      let hint = status == 401 || status == 403 ? " Check the credential." : " Check the address."
      throw Trouble("\(url.origin) answers \(status).\(hint)")
    }
  }

  /// Whether the receiver takes a note without anything that a program chose in place of an entry that it refuses: then
  /// it is set up right. Without this, an entry at the head of the log would keep all later ones back for good.
  private func takes(_ note: ExportRecord) throws(Trouble) -> Bool {
    switch try post([note]) {
    case .taken(let rejected, _): rejected == 0
    case .refused: false
    case .later(let status, let after): throw Trouble("\(url.origin) answers \(status).", asked: after)
    case .misdirected(let status): throw Trouble("\(url.origin) answers \(status).")
    }
  }

  /// And how the receiver is reached and trusted. Reads the file and asks the agent for each batch, so that what is replaced
  /// counts at once.
  private func addCredentials(to request: inout OutgoingRequest) throws(CommandFailure) {
    if let headersFile {
      let lines = try Self.headers(headersFile)
      var fields: [RequestField] = []
      do throws(HeaderLines.Problem) {
        try lines.withBytes { (bytes) throws(HeaderLines.Problem) in
          try HeaderLines.read(bytes) { name, value in fields.append(RequestField(name, secret: WipedBytes(value))) }
        }
      } catch {
        throw .usage("Line \(error.line) of \(headersFile) is not `Name: value`.")
      }
      request.fields += fields
    }
    let named = authorities.map { CertificateAuthorities(file: $0) }
    guard let account else {
      let own = TrustSettings(authorities: named ?? CertificateAuthorities { Environment.value($0) })
      request.trust = try reader.trust(for: url, elsewhere: own)
      return
    }
    let own = TrustSettings(authorities: named ?? CertificateAuthorities())
    let (token, trust) = try reader.authorization(of: account, at: url, elsewhere: own)
    request.trust = trust
    request.fields.append(RequestField("Authorization", secret: token))
  }

  /// A file that others can read or write is not used. It may be root's.
  private static func headers(_ path: String) throws(CommandFailure) -> WipedBytes {
    let file: Int32
    do throws(FileFault) {
      file = try FileRule.headerFile.open(path, followingLinks: true)
    } catch {
      if case .system(let error) = error { throw .usage("\(path) can't be read: \(SystemError.message(error)).") }
      throw .usage("\(path) must be a plain file of yours that others can neither read nor write: `chmod 600` it.")
    }
    defer { close(file) }
    let bytes = WipedBytes(capacity: largestHeaders)
    var isFailed = false
    bytes.append(capacity: largestHeaders) { target in
      let count = read(file, target.baseAddress!, target.count)
      isFailed = count < 0 || count == target.count
      return max(0, count)
    }
    guard !isFailed else { throw .usage("\(path) can't be read, or is larger than \(largestHeaders) bytes.") }
    return bytes
  }

  private func text(_ result: HTTPResult) -> String {
    switch result {
    case .complete, .stopped: "\(url.origin) gave no answer."
    case .lost(.timedOut): "\(url.origin) gave no answer in \(Self.requestMilliseconds / 1000) s."
    case .lost: "The connection to \(url.origin) ended before its answer."
    case .notSent(.notConnected(.refused)): "\(url.origin) refuses connections."
    case .notSent(.notConnected(.nameNotFound)): "The name of \(url.origin) is not known here."
    case .notSent(.notConnected(.proxy(let failure))): failure.explanation
    case .notSent(.untrusted(.unknownAuthority)):
      "\(url.origin) can't be trusted: \(TrustFailure.unknownAuthority.explanation). `--ca-file` or `caFile` names other authorities."
    case .notSent(.untrusted(let why)): "\(url.origin) can't be trusted: \(why.explanation)."
    case .notSent(.noLibrary): SystemLibrary.missingForRequests.missing
    case .notSent: "\(url.origin) can't be reached."
    }
  }
}
