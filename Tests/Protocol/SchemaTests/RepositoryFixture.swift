import Foundation
import SchemaKit

/// The repository's schemas, read from the disk.
enum RepositoryFixture {
  static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static let repository = try! ContractRepository(top: top)
  static let contract = repository.contract

  /// The contract with one document changed.
  static func contract(changing path: String, _ change: (inout JSONValue) -> Void) throws -> Contract {
    var documents = contract.documents
    let index = documents.firstIndex { $0.path == path }!
    change(&documents[index].value)
    return try Contract(documents: documents)
  }
}

extension JSONValue {
  /// The value at a JSON Pointer; assigning nil removes it.
  subscript(at pointer: String) -> JSONValue? {
    get { pointer.split(separator: "/").reduce(self) { $0?[step: String($1)] } }
    set {
      let steps = pointer.split(separator: "/").map(String.init)
      replace(steps[...], by: newValue)
    }
  }

  private subscript(step step: String) -> JSONValue? { elements.map { $0[Int(step)!] } ?? self[step] }

  private mutating func replace(_ steps: ArraySlice<String>, by value: JSONValue?) {
    guard let first = steps.first else { return self = value ?? .null }
    if var elements {
      if steps.count == 1, value == nil {
        elements.removeAll { $0.string == first }
      } else if let index = Int(first), index < elements.count {
        elements[index].replace(steps.dropFirst(), by: value)
      } else if let value {
        elements.append(value)
      }
      self = .array(elements)
    } else {
      var members = members ?? []
      let index = members.firstIndex { $0.name == first }
      if steps.count == 1, value == nil {
        members.removeAll { $0.name == first }
      } else if let index {
        members[index].value.replace(steps.dropFirst(), by: value)
      } else {
        var new = JSONValue.object([])
        new.replace(steps.dropFirst(), by: value)
        members.append(JSONMember(first, steps.count == 1 ? value! : new))
      }
      self = .object(members)
    }
  }
}
