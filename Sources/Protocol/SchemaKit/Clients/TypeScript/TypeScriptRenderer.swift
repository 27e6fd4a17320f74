/// Generates the TypeScript client's `src/generated`, and `conformance/typed.ts` of its driver.
///
/// A type of the contract is an interface in `types.ts` or `events.ts`, which a `Shape` in `shapes.ts` reads.
struct TypeScriptRenderer: ClientRenderer {
  private let contract: ClientContract
  private let documentation: ClientDocumentation<TypeScriptNaming>
  private let naming = TypeScriptNaming()

  init(_ contract: Contract) {
    self.contract = ClientContract(contract)
    documentation = ClientDocumentation(contract, TypeScriptNaming())
  }

  static func files(of contract: Contract) -> [RenderedFile] {
    let renderer = Self(contract)
    let files = [
      ("src/generated/errors.ts", renderer.errors), ("src/generated/types.ts", renderer.types),
      ("src/generated/events.ts", renderer.events), ("src/generated/shapes.ts", renderer.shapes),
      ("src/generated/methods.ts", renderer.methods), ("conformance/typed.ts", renderer.typedCalls),
    ]
    return files.map { path, text in RenderedFile(path: "Clients/typescript/\(path)", text: text) }
  }

  // MARK: Types

  private var types: String {
    var source = TypeScriptText("The types of the contract: enumerations, objects, and the params of each method.")
    source.importNames(["Open"], from: "../record.js", isType: true)
    for enumeration in contract.enumerations {
      source.line()
      source.doc(documentation.of(enumeration.documentation))
      source.line("export type \(enumeration.name) = Open<")
      for word in enumeration.words { source.line("  | \"\(word)\"") }
      source.line(">;")
    }
    for record in contract.records { write(record, &source) }
    for params in contract.operations.compactMap(\.params) { write(params, isParams: true, &source) }
    return source.text
  }

  private var events: String {
    var source = TypeScriptText("The `data` of each type of event.")
    let references = TypeScriptTypes.references(contract.events.flatMap { $0.data.members.map(\.type) })
    source.importNames(references, from: "./types.js", isType: true)
    for event in contract.events { write(event.data, &source) }
    source.line()
    source.doc("The `data` of an event by its type.")
    source.block("export interface EventData") { source in
      for event in contract.events {
        source.doc(event.kind.summary)
        source.line("readonly \"\(event.kind.name)\": \(event.data.name);")
      }
    }
    return source.text
  }

  private func write(_ record: ClientContract.Record, isParams: Bool = false, _ source: inout TypeScriptText) {
    source.line()
    source.doc(documentation.of(record).summary)
    guard !record.members.isEmpty else {
      return source.line("export type \(record.name) = Readonly<Record<never, never>>;")
    }
    source.block("export interface \(record.name)") { source in
      for member in record.members {
        if var doc = documentation.of(member) {
          if member.isSecret { doc.paragraphs.append(Self.secrecy) }
          source.doc(doc)
        } else if member.isSecret {
          source.doc(Self.secrecy)
        }
        let type = TypeScriptTypes.name(member.type, isParam: isParams)
        // A caller may pass `undefined` for an optional param; an answer never holds it.
        let absent = !member.isRequired && (isParams || record.isClosed) && type != "unknown" ? " | undefined" : ""
        source.line("readonly \(member.name)\(member.isRequired ? "" : "?"): \(type)\(absent);")
      }
    }
  }

  private static let secrecy = "A secret: `console.log` and `JSON.stringify` leave it out of an answer."

  // MARK: Shapes

  private var shapes: String {
    var source = TypeScriptText("Reads the objects of the contract, as `record.ts` describes.")
    source.line("import type * as events from \"./events.js\";")
    source.line("import type * as types from \"./types.js\";")
    source.importNames(
      ["Shape", "anything", "boolean", "instant", "integer", "list", "map", "optional", "required", "secret", "text"],
      from: "../record.js")
    for record in contract.records {
      source.line()
      let name = record.name
      source.line("export const \(name): Shape<types.\(name)> =")
      source.block("  new Shape(\"\(name)\", () => (", closedBy: "  }));") { source in
        for member in record.members { source.line("  " + shape(of: member)) }
      }
    }
    source.line()
    source.doc("Reads the `data` of an event by its type.")
    source.line("export const eventData: ReadonlyMap<string, Shape<events.EventData[keyof events.EventData]>> =")
    source.line("  new Map<string, Shape<events.EventData[keyof events.EventData]>>([")
    for event in contract.events {
      source.line("  [")
      source.line("    \"\(event.kind.name)\",")
      source.block("    new Shape(\"\(event.data.name)\", () => (", closedBy: "    })),") { source in
        for member in event.data.members { source.line("    \(shape(of: member))") }
      }
      source.line("  ],")
    }
    source.line("]);")
    return source.text.replacing("() => ( {", with: "() => ({")
  }

  private func shape(of member: ClientContract.Member) -> String {
    let presence = "\(member.isRequired ? "required" : "optional")(\(TypeScriptTypes.decoder(member.type)))"
    return "\(member.name): \(member.isSecret ? "secret(\(presence))" : presence),"
  }

  // MARK: Errors

  /// Members of an error's data that `LanyardError` has for all errors.
  private static let commonData: Set = ["name", "retryable", "account", "retryAfterMs", "reason", "remedies"]

  private var errors: String {
    var source = TypeScriptText("The errors of the contract, and those of JSON-RPC 2.0.")
    let data = contract.contract.type("errorData")?.object?.members ?? []
    let members = Dictionary(uniqueKeysWithValues: data.map { ($0.name, $0.schema) })
    let kinds = contract.standardErrors + contract.errors
    let own = kinds.map { $0.data.filter { !Self.commonData.contains($0) && members[$0] != nil } }
    let types = own.joined().map { named(contract.type(members[$0]!)) }
    source.importNames(["LanyardError"], from: "../errors.js")
    source.importNames(
      Set(types.flatMap { Self.words(TypeScriptTypes.decoder($0)) }).sorted() + ["told"], from: "../record.js")
    if !TypeScriptTypes.references(types).isEmpty {
      source.importNames(TypeScriptTypes.references(types), from: "./types.js", isType: true)
      source.line("import * as shapes from \"./shapes.js\";")
    }
    for (kind, names) in zip(kinds, own) {
      source.line()
      source.doc(documentation.of(kind))
      source.block("export class \(naming.error(kind)) extends LanyardError") { source in
        source.line("/** @internal */")
        source.line("static override readonly contractName: string = \"\(kind.name)\";")
        for name in names {
          let type = named(contract.type(members[name]!))
          source.line()
          source.doc(members[name]!.description ?? "The member `\(name)` of `data`.")
          source.block("get \(name)(): \(TypeScriptTypes.name(type)) | undefined") { source in
            let decoder = TypeScriptTypes.decoder(type, prefix: "shapes.")
            source.line("return told(\(decoder), this.data[\"\(name)\"]);")
          }
        }
      }
    }
    source.line()
    source.doc("The class of each code.")
    let type = "Map<number, typeof LanyardError>"
    source.line("export const ERRORS: Readonly\(type) = new \(type)([")
    for kind in kinds { source.line("  [\(kind.code), \(naming.error(kind))],") }
    source.line("]);")
    return source.text
  }

  /// A type that only errors have is not among the records and enumerations.
  private func named(_ type: ClientType) -> ClientType {
    switch type {
    case .record(let name) where !contract.records.contains { $0.name == name }: .anything
    case .enumeration(let name) where !contract.enumerations.contains { $0.name == name }: .text
    case .list(let items): .list(named(items))
    case .map(let values): .map(named(values))
    default: type
    }
  }

  /// The functions of `record.ts` in a decoder's expression.
  private static func words(_ decoder: String) -> [String] {
    decoder.split { !$0.isLetter && $0 != "." }.map(String.init).filter { !$0.contains(".") }
  }

  // MARK: Methods

  private var methods: String {
    var source = TypeScriptText("The methods of the contract, by namespace.")
    source.importNames(["CallOptions", "Caller"], from: "../caller.js", isType: true)
    source.importNames(["Shape"], from: "../record.js", isType: true)
    source.line("import * as shapes from \"./shapes.js\";")
    source.line("import type * as types from \"./types.js\";")
    source.line()
    source.doc("The version of the protocol.")
    source.line("export const PROTOCOL = \"\(contract.contract.protocolVersion)\";")
    source.line()
    source.doc("The methods whose request may be as long as `limits.bodyLineBytes` of `agent.hello` says.")
    source.line("export const METHODS_WITH_BODY: ReadonlySet<string> = new Set([")
    for operation in contract.operations where operation.method.carriesBody {
      source.line("  \"\(operation.method.name)\",")
    }
    source.line("]);")
    source.line()
    source.doc("The params of a method that has none yet.")
    source.line("export type NoParams = Readonly<Record<string, never>>;")
    for namespace in contract.namespaces { write(namespace, &source) }
    source.line()
    source.doc("Every method of the contract, by namespace.")
    source.block("export abstract class Methods implements Caller") { source in
      for namespace in contract.namespaces {
        source.doc("The methods `\(namespace.name).*` of the contract.")
        source.line("readonly \(namespace.name) = new \(Self.className(namespace))(this);")
      }
      source.line()
      source.line("abstract invoke<T extends object>(")
      for param in ["method: string", "params: object", "result: Shape<T>", "options?: CallOptions"] {
        source.line("  \(param),")
      }
      source.line("): Promise<T>;")
    }
    return source.text
  }

  private static func className(_ namespace: ClientContract.Namespace) -> String {
    namespace.name.capitalizedFirst + "Methods"
  }

  private func write(_ namespace: ClientContract.Namespace, _ source: inout TypeScriptText) {
    source.line()
    source.doc("The methods `\(namespace.name).*` of the contract.")
    source.block("export class \(Self.className(namespace))") { source in
      source.line("readonly #caller: Caller;")
      source.line()
      source.block("constructor(caller: Caller)") { $0.line("this.#caller = caller;") }
      for operation in namespace.operations {
        let params = operation.params.map { "types.\($0.name)" } ?? "NoParams"
        source.line()
        source.doc(documentation.of(operation))
        source.line("\(operation.method.verb)(")
        source.line("  params: \(params)\(operation.paramsAreOptional ? " = {}" : ""),")
        source.line("  options?: CallOptions,")
        source.block("): Promise<types.\(operation.resultName)>") { source in
          let result = "shapes.\(operation.resultName)"
          source.line("return this.#caller.invoke(\"\(operation.method.name)\", params, \(result), options);")
        }
      }
    }
  }

  private var typedCalls: String {
    var source = TypeScriptText("Calls the generated method of a name, for the command `typed` of the driver.")
    source.importNames(["CallOptions", "Client"], from: "../src/index.js", isType: true)
    source.line()
    source.line("type TypedCall = (client: Client, params: never, options: CallOptions) => Promise<object>;")
    source.line()
    source.line("export const typedCalls: ReadonlyMap<string, TypedCall> = new Map<string, TypedCall>([")
    for operation in contract.operations {
      let name = operation.method.name
      source.line("  [\"\(name)\", (client, params, options) => client.\(name)(params, options)],")
    }
    source.line("]);")
    return source.text
  }
}
