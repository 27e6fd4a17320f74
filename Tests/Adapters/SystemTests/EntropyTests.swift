import SystemAdapters
import Testing

@Test func systemEntropy_fillsTheRequestedBytesDifferentlyEachTime() {
  let entropy = SystemEntropy()
  #expect(entropy.bytes(0).isEmpty)
  let (first, second) = (entropy.bytes(32), entropy.bytes(32))
  #expect(first.count == 32 && second.count == 32)
  #expect(first != second)
  #expect(Set(entropy.bytes(4096)).count > 200)
}
