internal import AgentModel
internal import CPlatform
internal import CommandSupport
internal import LoopbackHTTP
internal import PageGate
internal import Synchronization
internal import WebPages

/// Serves the pages: from a request that `PageGate` admits to its answer.
final class Server: Sendable {
  /// The largest form is that of a grant: 64 servers of 512 bytes, each byte escaped, and 64 accounts.
  static let mostBodyBytes = 256 << 10

  private let gate: PageGate
  private let code: Mutex<OpeningCode>
  /// What the browser gets that sends the code.
  private let nextSession: PageSession
  private let session = Mutex<PageSession?>(nil)
  private let desk = AgentDesk()
  private let feed = LiveFeed()
  private let notices = Notices()
  private let idle: IdleEnd

  init(port: UInt16, code: OpeningCode, session: PageSession, idle: IdleEnd) {
    gate = PageGate(port: port) { WebAsset.named($0) != nil }
    self.code = Mutex(code)
    self.idle = idle
    nextSession = session
  }

  /// The answer to a request, on the connection's own thread.
  func answer(_ request: HTTPRequest) -> HTTPReply {
    do throws(GateRefusal) {
      let session = session.withLock { $0 }
      switch try gate.admit(request, session: session) {
      case .opening: return .respond(.page(OpeningPage.html))
      case .redeem(let code): return .respond(open(with: code))
      case .asset(let path): return .respond(try asset(path))
      case .start: return .respond(.seeOther(WebPage.accounts.path))
      case .page(let path, let query):
        // What the script fetches anew by itself is no sign of a person.
        if request.header("Sec-Fetch-Dest") ?? "document" == "document" { idle.begin() }
        return .respond(try page(path, query, session))
      case .live(let name): return try live(name)
      case .action(let name, let form):
        idle.begin()
        return .respond(try act(name, form))
      }
    } catch {
      return .respond(.refusal(error))
    }
  }

  // MARK: the session

  private func open(with guess: String) -> HTTPResponse {
    switch code.withLock({ $0.redeem(guess, at: lanyard_boot_milliseconds()) }) {
    case .opened:
      session.withLock { $0 = nextSession }
      idle.begin()
      var response = HTTPResponse.seeOther(WebPage.accounts.path)
      response.headers.append(("Set-Cookie", nextSession.cookie))
      return response
    case .wrong: return Self.notOpened("This is not the code of this page.")
    case .late: return Self.notOpened("The address opened the page for a minute only.")
    case .used: return Self.notOpened("The address has opened the page already.")
    case .closed:
      return Self.notOpened("Too many wrong codes came to this page, so it opens no more.")
    }
  }

  private static func notOpened(_ why: String) -> HTTPResponse {
    .page(OpeningPage.refused("\(why) `lanyard ui` in a terminal makes a new address."), status: 403)
  }

  // MARK: pages

  private func asset(_ path: String) throws(GateRefusal) -> HTTPResponse {
    guard let (type, bytes) = WebAsset.named(path) else { throw .notFound }
    return HTTPResponse(status: 200, headers: [("Content-Type", type)] + SecureFields.all, body: bytes)
  }

  private func page(
    _ path: String, _ query: [String: String], _ session: PageSession?
  ) throws(GateRefusal) -> HTTPResponse {
    guard let page = WebPage.allCases.first(where: { $0.path == path }), let session else { throw .notFound }
    var query = query
    let notice = query.removeValue(forKey: Notices.name).flatMap(notices.text)
    var answers = AgentAnswers()
    desk.ask(page.questions(query), into: &answers)
    desk.ask(page.furtherQuestions(query, answers), into: &answers)
    let now = Timestamp(milliseconds: lanyard_wall_milliseconds())
    let visit = PageVisit(
      page: page, query: query, formToken: session.formToken, now: now, notice: notice,
      secondsFromUTC: LocalTime.secondsFromUTC(at: now))
    return .page(page.html(visit, answers))
  }

  private func live(_ name: String) throws(GateRefusal) -> HTTPReply {
    guard let page = WebPage(rawValue: name) else { throw .notFound }
    guard let watcher = feed.open(page) else { throw .tooManyPages }
    let head = HTTPResponse(status: 200, headers: [("Content-Type", "text/event-stream")] + SecureFields.all)
    return .stream(head) { [feed] stream in
      LiveStream.run(stream, watcher)
      feed.close(watcher)
    }
  }

  // MARK: forms

  private func act(_ name: String, _ form: [String: String]) throws(GateRefusal) -> HTTPResponse {
    guard let action = WebAction.named(name) else { throw .notFound }
    let calls: [AgentQuestion]
    do throws(FormProblem) {
      calls = try action.calls(form)
    } catch {
      return seeOther(action.page, notice: error.message)
    }
    var outcome = desk.perform(calls)
    if let other = action.alternative(outcome.answers) { outcome = desk.perform([other]) }
    // The person goes on at the provider; the page shows the account once it is there.
    if let address = outcome.authorizationURL { return SignInHandover.response(to: address) }
    return seeOther(action.page, notice: action.notice(outcome.answers))
  }

  private func seeOther(_ page: WebPage, notice: String) -> HTTPResponse {
    .seeOther("\(page.path)?\(Notices.name)=\(notices.keep(notice))")
  }
}

extension HTTPResponse {
  static func page(_ html: String, status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse.html(html, status: status)
    response.headers += SecureFields.all
    return response
  }

  /// To a path of this server.
  static func seeOther(_ path: String) -> HTTPResponse {
    var response = HTTPResponse.redirect(to: path, status: 303)
    response.headers += SecureFields.all
    return response
  }

  static func refusal(_ refusal: GateRefusal) -> HTTPResponse {
    // What a person may see, who opened an old address.
    var response: HTTPResponse =
      refusal.isForPerson
      ? .html(OpeningPage.refused(refusal.words), status: refusal.status)
      : .text(refusal.words + "\n", status: refusal.status)
    response.headers += SecureFields.all
    if refusal.status == 405 { response.headers.append(("Allow", "GET, POST")) }
    return response
  }
}
