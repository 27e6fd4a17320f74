import Glibc
import StreamingHTTP
import Testing
import Threads

/// `HostLookup`: which names do not pass to another proxy that would look them up.
@Suite struct HostLookupTests {
  private let publicAddress: [UInt8] = [93, 184, 216, 34]

  @Test(
    "A name that this machine knows as its own is special", arguments: ["localhost", "127.0.0.1", "::1", "10.0.0.1"])
  func namesOfThisMachine(_ host: String) {
    #expect(HostLookup.hasSpecialAddress(host))
  }

  @Test func addresses_areInNetworkOrder() {
    #expect(HostLookup.addresses(of: "10.1.2.3") == [[10, 1, 2, 3]])
    #expect(HostLookup.addresses(of: "::1") == [[UInt8](repeating: 0, count: 15) + [1]])
  }

  @Test func oneAddressThatIsNotPublic_isEnough() {
    let publicAddress = self.publicAddress
    #expect(!HostLookup.hasSpecialAddress("far.example") { _ in [publicAddress] })
    #expect(HostLookup.hasSpecialAddress("far.example") { _ in [publicAddress, [192, 168, 0, 1]] })
  }

  @Test func nameWithoutAnAddressHere_isLeftToTheOtherProxy() {
    #expect(!HostLookup.hasSpecialAddress("far.example") { _ in [] })
  }

  @Test func lookupThatTakesTooLong_isLeftToTheOtherProxy() {
    let answered = WakeUp()
    let isSpecial = HostLookup.hasSpecialAddress("slow.example", milliseconds: 10) { _ in
      var entry = pollfd(fd: answered.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&entry, 1, -1)
      return [[10, 0, 0, 1]]
    }
    #expect(!isSpecial)
    answered.signal()
  }
}
