import AgentCore
import Testing

@Suite struct FormNamesTests {
  private static let encoded = "application/x-www-form-urlencoded"
  private static let multipart = "multipart/form-data; boundary=b"

  /// In pieces of `size` bytes; nil for one that goes on.
  private func refusal(
    _ body: String, _ types: [String], encoding: [String] = [], size: Int = 1, allowed: [String] = []
  ) -> FormNames.Refusal? {
    do throws(FormNames.Refusal) {
      guard
        var form = try FormNames(
          types.map { (name: "Content-Type", value: $0) } + encoding.map { (name: "content_encoding", value: $0) },
          under: RequestNames(allowed: allowed))
      else { return nil }
      let bytes = Array(body.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        try take(Array(bytes[start..<min(start + size, bytes.count)]), &form)
      }
      try form.finish()
      return nil
    } catch {
      return error
    }
  }

  private func take(_ piece: [UInt8], _ form: inout FormNames) throws(FormNames.Refusal) {
    // `withUnsafeBytes` of an array passes on no typed error.
    var refusal: FormNames.Refusal?
    piece.withUnsafeBytes { bytes in
      do throws(FormNames.Refusal) { try form.take(bytes) } catch { refusal = error }
    }
    if let refusal { throw refusal }
  }

  /// For some servers such a body is a form, for others it is data.
  @Test(arguments: ["Content_Type", "content.type"])
  func typeInAnotherSpelling_isUnreadable(name: String) {
    for fields in [[], [(name: "Content-Type", value: "application/json")]] {
      #expect(throws: FormNames.Refusal.unreadable) {
        try FormNames(fields + [(name: name, value: Self.encoded)], under: RequestNames())
      }
    }
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func encodedForm_isReadInPiecesOfAnySize(size: Int) {
    #expect(refusal("a=b&_method=DELETE", [Self.encoded], size: size) == .telling(.method))
    #expect(refusal("a=b;access%5Ftoken=c", [Self.encoded], size: size) == .telling(.credential))
    #expect(refusal("a=1&doAs=bob", [Self.encoded + "; charset=UTF-8"], size: size) == .telling(.person))
    #expect(refusal("a=b&token", [Self.encoded], size: size) == .telling(.credential))
    #expect(refusal("_method%00x=DELETE", [Self.encoded], size: size) == .telling(.method))
    #expect(refusal("q=_method&text=access_token%3Dx&b", [Self.encoded], size: size) == nil)
    #expect(refusal("", [Self.encoded], size: size) == nil)
  }

  @Test func formWithoutAType_isAFormToo_andJSONIsNone() {
    #expect(refusal("_method=DELETE", []) == .telling(.method))
    #expect(refusal("_method=DELETE", [""]) == .telling(.method))
    #expect(refusal(#"{"access_token":"a","password":"b=c"}"#, []) == nil)
    #expect(refusal("GET / HTTP/1.1\r\nAuthorization: Bearer a=b\r\n\r\n", []) == nil)
    #expect(refusal(#"{"_method":"DELETE"}"#, ["application/json"]) == nil)
    #expect(refusal("_method=DELETE", ["text/plain"]) == nil)
  }

  @Test func paddedName_isFound() {
    let blanks = String(repeating: "+ \r\n", count: 1000)
    #expect(refusal("a=b&\(blanks)_method=DELETE", [Self.encoded]) == .telling(.method))
    #expect(refusal("_method[\(String(repeating: "a", count: 5000))]=DELETE", [Self.encoded]) == .telling(.method))
  }

  @Test(arguments: ["%20", "%2520", "[", "%5b", "%20[+", "\u{a0}"])
  func nameBehindMoreThanIsKept_isUnreadable(padding: String) {
    let padded = String(repeating: padding, count: 600) + "_method=DELETE"
    #expect(refusal(padded, [Self.encoded]) == .unreadable)
    #expect(refusal("a=b&" + padded, []) == .unreadable)
  }

  @Test func longNameThatShowsItself_goesOn() {
    let text = String(repeating: "text%20of%20a%20note+", count: 100)
    #expect(refusal("\(text)=1&a[\(String(repeating: "%20", count: 600))]=2", [Self.encoded]) == nil)
  }

  private func part(_ field: String, _ value: String = "x") -> String { "--b\r\n\(field)\r\n\r\n\(value)\r\n--b--\r\n" }

  @Test(arguments: [
    #"Content-Disposition: form-data; name="_method""#, "content-disposition:form-data;name=_method",
    "Content-Disposition: form-data;\r\n name=\"_method\"", "Content-Disposition: form-data; NAME = '_method'",
    "Content-Disposition: form-data; name=\"a\"; name=\"_method\"", #"Content-Disposition: form-data; name="_met\hod""#,
    "Content-Disposition: form-data; name*=utf-8''_method", "Content-Disposition: form-data; name=\"%5Fmethod\"",
    "X: y\nContent-Disposition: form-data; name=\"_method\"", "X: y\rContent-Disposition: form-data; name=\"_method\"",
    // What Rack reads as well.
    "Content-ID: _method", "content_id:\r\n <_method>", "Content-ID:\r\n_method",
    "XContent-Disposition: form-data; name=\"_method\"", "X: Content-Disposition: form-data; name=\"_method\"",
    "Content-Disposition: form-data\r\nfoo; name=\"_method\"",
    "Content-Disposition: form-data\n\nfoo;\r\nname=\"_method\"",
    "X: \(String(repeating: "a", count: 9000))Content-Disposition: form-data; name=\"_method\"",
  ])
  func partThatNamesAMethod_isFound(field: String) {
    for size in [1, 5, 1000] { #expect(refusal(part(field), [Self.multipart], size: size) == .telling(.method)) }
  }

  @Test(arguments: ["multipart/mixed; boundary=b", "multipart/related;boundary=b", "Multipart/Alternative"])
  func otherMultipartBody_isAForm(type: String) {
    #expect(refusal(part(#"Content-Disposition: form-data; name="_method""#), [type]) == .telling(.method))
    #expect(refusal(part("Content-ID: <root.message@example>", #"{"access_token":1}"#), [type]) == nil)
    #expect(refusal(part("Content-Type: application/json", #"{"contentId":"access_token"}"#), [type]) == nil)
  }

  @Test func partsOfAnUpload_goOn() {
    let file = #"Content-Disposition: form-data; name="file"; filename="_method""#
    #expect(refusal(part(file, String(repeating: "_method=x\r\n", count: 2000)), [Self.multipart], size: 999) == nil)
    #expect(refusal(part(file, String(repeating: "a", count: 100_000)), [Self.multipart], size: 999) == nil)
    let mail = "Content-Disposition: attachment\r\n\r\n" + String(repeating: "a\r\n", count: 10_000)
    #expect(refusal(part(file, mail), [Self.multipart], size: 999) == nil)
    #expect(refusal(part(#"Content-Disposition: form-data; name="note""#, "access_token"), [Self.multipart]) == nil)
  }

  @Test func formThatCanNotBeLookedInto_isUnreadable() {
    #expect(refusal("a=b", [Self.encoded + "; charset=ibm037"]) == .unreadable)
    #expect(refusal("a=b", [Self.encoded, Self.multipart]) == .unreadable)
    #expect(refusal("a=b", [Self.encoded], encoding: ["gzip"]) == .unreadable)
    #expect(refusal("a=b", ["application/json"], encoding: ["gzip"]) == nil)
    let long = "Content-Disposition: form-data; a=" + String(repeating: "b", count: 10_000)
    #expect(refusal(part(long), [Self.multipart]) == .unreadable)
    let pieces = #"Content-Disposition: form-data; name*0="_met"; name*1="hod""#
    #expect(refusal(part(pieces), [Self.multipart]) == .unreadable)
    #expect(
      refusal(part(#"Content-Disposition: form-data; name="=?utf-8?q?=5Fmethod?=""#), [Self.multipart]) == .unreadable)
  }

  @Test func allowedParameter_goesOn() {
    #expect(refusal("token=a", [Self.encoded], allowed: ["token"]) == nil)
    #expect(refusal("token=a&_method=b", [Self.encoded], allowed: ["token"]) == .telling(.method))
  }
}
