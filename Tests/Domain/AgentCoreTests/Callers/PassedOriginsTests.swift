import AgentCore
import AgentModel
import Testing

struct PassedOriginsTests {
  private func basis(_ origins: [String], _ url: String, served: Set<String> = []) -> PassedOrigins.Basis? {
    PassedOrigins(origins).basis(of: HTTPURL(url)!, served: served)
  }

  @Test func namedOrigin_passesWhateverItsAddressIs() {
    #expect(basis(["https://a.example"], "https://A.example:443/x?y") == .named)
    #expect(basis(["http://10.0.0.1:8080"], "http://10.0.0.1:8080/") == .named)
    #expect(basis(["https://a.example"], "https://a.example", served: ["https://a.example"]) == .named)
    for other in ["http://a.example", "https://a.example:8443", "https://b.a.example", "https://a.example.org"] {
      #expect(basis(["https://a.example"], other) == nil)
    }
  }

  @Test func any_excludesWhatAnAccountServesAndSpecialAddresses() {
    #expect(basis(["*"], "https://a.example") == .any)
    #expect(basis(["*"], "http://a.example:8080") == .any)
    #expect(basis(["*"], "https://a.example", served: ["https://a.example"]) == nil)
    #expect(basis(["*"], "https://8.8.8.8") == .any)
    for host in [
      "127.0.0.1", "localhost", "a.localhost", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1",
      "[::1]", "[fd00::1]", "[fe80::1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "224.0.0.1", "255.255.255.255",
    ] {
      #expect(basis(["*"], "https://\(host)") == nil, "\(host)")
    }
    #expect(basis([], "https://a.example") == nil)
  }

  @Test func any_excludesWhatAnAccountServesInEverySpellingOfItsAddress() {
    let spellings = ["8.8.8.8", "[::ffff:8.8.8.8]", "[::ffff:808:808]", "[64:ff9b::808:808]"]
    for one in spellings {
      #expect(basis(["*"], "https://\(one)") == .any, "\(one)")
      for other in spellings {
        let served: Set = [HTTPURL("https://\(other)")!.origin]
        #expect(basis(["*"], "https://\(one)", served: served) == nil, "\(one) of \(other)")
        #expect(basis(["*"], "https://\(one):8443", served: served) == .any, "\(one) of \(other)")
      }
      #expect(basis(["*"], "https://\(one)", served: ["https://8.8.4.4", "https://a.example"]) == .any, "\(one)")
    }
  }

  @Test func whatIsNoOrigin_isRefused() {
    for text in [
      "", "a.example", "https://a.example/x", "https://a.example?x", "ftp://a.example", "**", "https://u@a.example",
    ] {
      #expect(PassedOrigins.normal(text) == nil, "\(text)")
    }
    #expect(PassedOrigins.normal("HTTP://A.example:80/") == "http://a.example")
  }

  @Test func narrowing_addsNothing() {
    let (named, any) = (PassedOrigins(["https://a.example", "http://10.0.0.1"]), PassedOrigins(["*"]))
    #expect(named.narrowed(to: any).texts == ["https://a.example"])
    #expect(any.narrowed(to: named) == named.narrowed(to: any))
    #expect(any.narrowed(to: any) == any)
    #expect(named.narrowed(to: PassedOrigins()).isEmpty)
    #expect(PassedOrigins(["https://a.example"]).isWithin(any))
    #expect(!PassedOrigins(["http://10.0.0.1"]).isWithin(any))
    #expect(!any.isWithin(named))
  }
}

struct PublicAddressTests {
  @Test func specialAddresses_areNotPublic() {
    let special: [[UInt8]] = [
      [0, 1, 2, 3], [10, 255, 255, 255], [100, 127, 0, 1], [127, 9, 9, 9], [169, 254, 0, 1], [172, 16, 0, 1],
      [172, 31, 255, 255], [192, 0, 0, 1], [192, 168, 255, 255], [198, 18, 0, 1], [198, 19, 0, 1], [224, 0, 0, 1],
      [240, 0, 0, 1], [255, 255, 255, 255],
    ]
    for four in special {
      #expect(!PublicAddress.isPublic(four), "\(four)")
      // Mapped, translated and 6to4.
      #expect(!PublicAddress.isPublic([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + four))
      #expect(!PublicAddress.isPublic([0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + four))
      #expect(!PublicAddress.isPublic([0x20, 0x02] + four + [UInt8](repeating: 0, count: 10)))
    }
    for start: [UInt8] in [
      [0xFC], [0xFD], [0xFE, 0x80], [0xFE, 0xC0], [0xFF, 0x02], [0x20, 0x01, 0x0D, 0xB8], [0x40], [0x80],
    ] {
      #expect(!PublicAddress.isPublic(start + [UInt8](repeating: 1, count: 16 - start.count)), "\(start)")
    }
    #expect(!PublicAddress.isPublic([]))
    #expect(!PublicAddress.isPublic([8, 8, 8]))
  }

  @Test func edges_arePublic() {
    for four: [UInt8] in [
      [1, 1, 1, 1], [9, 255, 255, 255], [11, 0, 0, 0], [100, 63, 0, 1], [100, 128, 0, 1], [126, 0, 0, 1],
      [128, 0, 0, 1],
      [169, 253, 0, 1], [172, 15, 0, 1], [172, 32, 0, 1], [192, 167, 0, 1], [192, 169, 0, 1], [198, 17, 0, 1],
      [223, 1, 1, 1],
    ] {
      #expect(PublicAddress.isPublic(four), "\(four)")
    }
    #expect(PublicAddress.isPublic([0x2A, 0, 0x14, 0x50] + [UInt8](repeating: 1, count: 12)))
    #expect(PublicAddress.isPublic([0x26, 0x06] + [UInt8](repeating: 0, count: 13) + [1]))
  }
}
