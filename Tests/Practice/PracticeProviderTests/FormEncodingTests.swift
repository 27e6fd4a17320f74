import LoopbackHTTP
import PracticeProvider
import Testing

@Suite struct FormEncodingTests {
  @Test func repeatedFormNames_areKept() {
    let items = FormEncoding.decode("a=1&b=%C3%BC+x&a=2&c&=d&&e=%zz%4")
    #expect(items.map(\.name) == ["a", "b", "a", "c", "", "e"])
    #expect(items.map(\.value) == ["1", "ü x", "2", "", "d", "%zz%4"])
  }

  @Test func formEncoding_roundTrips() {
    let items = [(name: "scope", value: "a b+c&d=e/ü%"), (name: "empty", value: "")]
    let decoded = FormEncoding.decode(FormEncoding.encode(items))
    #expect(decoded.map(\.name) == items.map(\.name))
    #expect(decoded.map(\.value) == items.map(\.value))
    #expect(PercentEncoding.encode("a b~") == "a%20b~")
    #expect(PercentEncoding.decode("a+b%2B") == "a+b+")
  }

  @Test func bodyWithoutTheFormType_isNoForm() {
    #expect(HTTPRequest.postForm("/", [("a", "1")]).formItems.count == 1)
    #expect(HTTPRequest(method: "POST", url: "/", body: Array("a=1".utf8)).formItems.isEmpty)
  }
}
