import AgentPorts
import Testing

import AgentVault

@Suite struct OpenPartitionsTests {
  private func partition(_ number: Int) -> PartitionID {
    PartitionID(bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 7, count: 14))!
  }

  private let opened = Vault.Partition(head: VaultHead(), epoch: 1, keys: nil)

  @Test func theLastOnes_stayOpen() {
    var open = OpenPartitions()
    open[.vault] = opened
    for number in 0..<1_000 { open[partition(number)] = opened }
    #expect(open.all.count == OpenPartitions.most + 1)
    #expect(open[.vault] != nil && open[partition(999)] != nil && open[partition(1_000 - OpenPartitions.most)] != nil)
    #expect(open[partition(999 - OpenPartitions.most)] == nil)
  }

  @Test func forgottenOnes_makeRoom() {
    var open = OpenPartitions()
    for number in 0..<2_000 {
      open[partition(number % 300)] = opened
      if number % 3 == 0 { open[partition(number % 300)] = nil }
      #expect(open.all.count <= OpenPartitions.most)
    }
    for place in open.all { open[place] = nil }
    #expect(open.all.isEmpty)
  }

  @Test func idOfAPartition_keepsItsBytesAndTheirOrder() {
    let bytes = (0..<16).map { UInt8(240 - 15 * $0) }
    #expect(PartitionID(bytes: bytes)?.bytes == bytes && PartitionID(bytes: bytes)?.firstByte == 240)
    #expect(PartitionID(bytes: Array(bytes.dropLast())) == nil && PartitionID(bytes: bytes + [0]) == nil)
    #expect(partition(1) < partition(2) && partition(255) < partition(256))
    #expect(PartitionID.vault < partition(0) && PartitionID.vault.bytes == [UInt8](repeating: 0, count: 16))
  }
}
