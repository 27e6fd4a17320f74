import AgentModel
import AgentPorts
import Foundation
import Secrets
import Synchronization
import Testing

import HTTPAdapter

/// `beforeSending` is asked when the connection stands and nothing has been sent on it.
@Suite struct BeforeSendingTests {
  private func request(_ url: String, _ ask: @escaping @Sendable () async -> Bool) -> HTTPRequest {
    var request = HTTPRequest(method: "POST", url: url, body: Secret(text: "a=b"))
    request.beforeSending = ask
    return request
  }

  @Test func requestLeavesAfterTheConsent() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    let asked = Atomic(0)
    let request = request(server.url) {
      asked.add(1, ordering: .relaxed)
      while server.connections == 0 { await Task.yield() }
      try? await Task.sleep(for: .milliseconds(100))
      #expect(server.requests.isEmpty, "not a byte was sent")
      return true
    }
    #expect(await makeExchange().send(request).summary == "200 hi")
    #expect(asked.load(ordering: .relaxed) == 1)
    #expect(server.requests.count == 1)
  }

  @Test func withheldRequest_sendsNothing() async {
    let received = Mutex<String?>(nil)
    let server = RawServer { connection in
      let text = connection.readRequest()
      received.withLock { $0 = text }
    }
    #expect(await makeExchange().send(request(server.url) { false }).summary == "notConnected withheld")
    while received.withLock({ $0 }) == nil { try? await Task.sleep(for: .milliseconds(5)) }
    #expect(received.withLock { $0 } == "")
  }

  @Test func consentComesAfterTheHandshake() async throws {
    let identity = try TLSIdentity.localhost.get()
    let server = try TLSServer(identity)
    let exchange = makeExchange(certificateAuthorities: identity.certificate)
    #expect(await exchange.send(request(server.url + "/token") { true }).response?.status == 200)
    let asked = Atomic(0)
    let untrusting = request(server.url) {
      asked.add(1, ordering: .relaxed)
      return true
    }
    #expect(await makeExchange().send(untrusting).summary == "untrusted unknownAuthority")
    #expect(asked.load(ordering: .relaxed) == 0)
    #expect(server.requests == 1)
  }

  @Test func requestWithoutAConnection_isNotAskedAbout() async {
    let (descriptor, port) = RawServer.listen(backlog: 1)
    close(descriptor)
    let request = request("http://127.0.0.1:\(port)/") {
      Issue.record("nothing can be sent")
      return true
    }
    #expect(await makeExchange().send(request).summary == "notConnected refused")
  }

  /// The commit of one account may take long; the requests of the others don't wait for it.
  @Test func slowConsent_delaysNoOtherRequest() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let exchange = makeExchange()
    let (asked, others) = (Latch(), Latch())
    let slow = request(server.url + "/slow") {
      asked.open()
      await others.wait()
      return true
    }
    async let answer = exchange.send(slow)
    await asked.wait()
    #expect(await exchange.send(get(server.url + "/plain")).summary == "200 ")
    #expect(await exchange.send(request(server.url + "/asked") { true }).summary == "200 ")
    #expect(server.requests.count == 2)
    others.open()
    #expect(await answer.summary == "200 ")
  }

  @Test func requestCancelledDuringTheConsent_sendsNothing() async {
    let server = RawServer { $0.readRequest() }
    let exchange = makeExchange()
    let asked = Latch()
    let request = request(server.url) {
      asked.open()
      try? await Task.sleep(for: .seconds(60))
      return true
    }
    let task = Task { await exchange.send(request).summary }
    await asked.wait()
    task.cancel()
    #expect(await task.value == "notConnected other")
    #expect(server.requests.allSatisfy { $0.isEmpty })
  }

  @Test func consentAfterTheTimeIsUp_sendsNothing() async {
    let server = RawServer { $0.readRequest() }
    var request = request(server.url) {
      try? await Task.sleep(for: .milliseconds(400))
      return true
    }
    request.timeout = Milliseconds(200)
    #expect(await makeExchange().send(request).summary == "notConnected other")
    #expect(server.requests.allSatisfy { $0.isEmpty })
  }

  @Test func manyRequestsWithConsent_areEachSentOnce() async {
    let server = RawServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    let exchange = makeExchange()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          #expect(
            await exchange.send(request(server.url + "/\(number)") { number % 5 != 0 }).response != nil
              || number % 5 == 0)
        }
      }
    }
    #expect(server.requests.filter { !$0.isEmpty }.count == 80)
  }
}
