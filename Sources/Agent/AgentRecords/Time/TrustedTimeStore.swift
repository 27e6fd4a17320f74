package import AgentCore
internal import AgentModel
internal import AgentPorts
package import AgentStore
package import AgentVault
internal import JSONRPC
internal import SecretJSON
package import Secrets

extension DeclaredKind {
  /// The last known time (docs/offline.md, Time): the sealed high-water mark.
  package static let trustedTime = DeclaredKind(19, under: .vault)
}

extension OpenVault {
  package var trustedTime: TrustedTimeStore { TrustedTimeStore(time: time) }
}

/// The sealed high-water mark (docs/offline.md, Time), which is written as part of other transactions.
package struct TrustedTimeStore {
  let time: TimeKeeper

  /// The change to commit with every change of an account, so that no confirmation is later than the stored time.
  package var changes: [VaultChange] {
    time.record().map { $0.lines.isEmpty ? [] : [.put(.vault, .trustedTime, $0.sealable)] } ?? []
  }

  static func record(in records: Vault) throws(VaultFailure) -> TrustedTime.Record? {
    guard let plain = try records.read(.vault, .trustedTime) else { return nil }
    guard let record = TrustedTime.Record(plain) else { throw .integrity }
    return record
  }
}

extension TrustedTime.Record {
  package var sealable: Secret {
    SecretJSON.write { writer in
      writer.member("bootID", bootID)
      writer.member("boot", boot.milliseconds)
      writer.member("lived", lived.count)
      writer.key("lines")
      writer.beginArray()
      for line in lines {
        writer.beginObject()
        writer.member("provider", line.provider?.text)
        writer.member("mark", line.mark.milliseconds)
        writer.member("wallOffset", line.wallOffset.count)
        writer.key("acceptances")
        writer.beginArray()
        for acceptance in line.acceptances {
          writer.beginObject()
          writer.member("at", acceptance.at.count)
          writer.member("offset", acceptance.offset.count)
          writer.endObject()
        }
        writer.endArray()
        writer.member("toldBehind", line.toldBehind.count)
        writer.key("wasTold")
        writer.bool(line.wasTold)
        writer.key("isAnchored")
        writer.bool(line.isAnchored)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  package init?(_ plain: Secret) {
    let read = SecretJSON.read(plain) { node -> TrustedTime.Record? in
      guard let bootID = node["bootID"]?.string, let boot = node["boot"]?.integer, let lived = node["lived"]?.integer,
        let lines = node["lines"]?.elements
      else { return nil }
      return TrustedTime.Record(
        bootID: bootID, boot: BootInstant(milliseconds: boot), lived: Milliseconds(lived),
        lines: lines.compactMap { line -> Line? in
          let provider = line["provider"]?.string.map { ProviderName($0) }
          // The line of the machine names none; a name that is none is of no provider.
          if case .some(.none) = provider { return nil }
          guard let mark = line["mark"]?.timestamp, let wallOffset = line["wallOffset"]?.integer else { return nil }
          return Line(
            provider: provider ?? nil, mark: mark, wallOffset: Milliseconds(wallOffset),
            acceptances: line["acceptances"]?.elements.compactMap { acceptance -> Acceptance? in
              guard let at = acceptance["at"]?.integer, let offset = acceptance["offset"]?.integer else { return nil }
              return Acceptance(at: Milliseconds(at), offset: Milliseconds(offset))
            } ?? [],
            toldBehind: Milliseconds(line["toldBehind"]?.integer ?? 0), wasTold: line["wasTold"]?.bool ?? false,
            isAnchored: line["isAnchored"]?.bool ?? false)
        })
    }
    guard let read else { return nil }
    self = read
  }
}
