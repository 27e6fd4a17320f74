import { ProtocolError } from "./errors.js";

/** A word of a set that may grow: an agent that is newer than this client may answer others. */
export type Open<Words extends string> = Words | (string & Record<never, never>);

/** @internal Reads one JSON value. Throws `Mismatch`. */
export type Decoder = (value: unknown) => unknown;

/** @internal */
export interface Member {
  readonly decode: Decoder;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

class Mismatch {
  path = "";
  constructor(readonly reason: string) {}

  within(name: string | number): this {
    this.path = `/${name}${this.path}`;
    return this;
  }
}

/**
 * The base of all objects that the agent answers.
 *
 * Members marked `x-secret` are getters over a private field: `token.accessToken` reads one, and `console.log`,
 * `util.inspect`, `JSON.stringify`, `String()`, `Object.entries` and `{...token}` leave it out. So do they with members
 * that this version does not know, which `extra` returns.
 */
class AnsweredRecord {
  #secrets: Record<string, string> | undefined;
  #extra: Record<string, unknown> | undefined;

  static make(kind: new () => AnsweredRecord, value: object, members: ReadonlyMap<string, Member>): AnsweredRecord {
    const record = new kind();
    const known = record as unknown as Record<string, unknown>;
    let found = 0;
    for (const [name, member] of members) {
      const told = (value as Record<string, unknown>)[name];
      if (told === undefined || told === null || !Object.hasOwn(value, name)) {
        if (member.isRequired) throw new Mismatch(`no member ${name}`);
        continue;
      }
      found += 1;
      try {
        const decoded = member.decode(told);
        if (member.isSecret) (record.#secrets ??= {})[name] = decoded as string;
        else known[name] = decoded;
      } catch (error) {
        throw error instanceof Mismatch ? error.within(name) : error;
      }
    }
    if (Object.keys(value).length > found) {
      // `fromEntries` defines members: a member `__proto__` stays a member.
      const rest = Object.entries(value).filter(([name, told]) => told !== null && !members.has(name));
      if (rest.length > 0) record.#extra = Object.fromEntries(rest);
    }
    return record;
  }

  static secret(record: AnsweredRecord, name: string): string | undefined {
    return #secrets in record ? record.#secrets?.[name] : undefined;
  }

  static hidden(record: object): Record<string, unknown> | undefined {
    if (!(#secrets in record) || (!record.#secrets && !record.#extra)) return undefined;
    return { ...record.#secrets, ...record.#extra };
  }

  static extra(record: object): Readonly<Record<string, unknown>> {
    return #extra in record ? record.#extra ?? {} : {};
  }
}

/** @internal Reads one object type of the contract. */
export class Shape<T extends object> {
  readonly #name: string;
  readonly #describe: () => Record<string, Member>;
  #members: ReadonlyMap<string, Member> | undefined;
  #kind: (new () => AnsweredRecord) | undefined;

  constructor(name: string, describe: () => Record<string, Member>) {
    this.#name = name;
    this.#describe = describe;
  }

  /** Throws `ProtocolError`, which names the place and never the value. */
  read(value: unknown): T {
    try {
      return this.decode(value);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw new ProtocolError(`${this.#name} at ${error.path || "/"}: ${error.reason}`);
    }
  }

  /** As `read`, but an object of another form is returned as it came. */
  readIfPossible(value: object): T {
    try {
      return this.read(value);
    } catch {
      return value as T;
    }
  }

  /** Throws `Mismatch`. */
  readonly decode = (value: unknown): T => {
    if (!isObject(value)) throw new Mismatch("not an object");
    this.#members ??= new Map(Object.entries(this.#describe()));
    this.#kind ??= kindOf(this.#name, this.#members);
    return AnsweredRecord.make(this.#kind, value, this.#members) as unknown as T;
  };
}

function kindOf(name: string, members: ReadonlyMap<string, Member>): new () => AnsweredRecord {
  const kind = { [name]: class extends AnsweredRecord {} }[name] as new () => AnsweredRecord;
  for (const [member, { isSecret }] of members) {
    if (!isSecret) continue;
    Object.defineProperty(kind.prototype, member, {
      get(this: AnsweredRecord) {
        return AnsweredRecord.secret(this, member);
      },
    });
  }
  return kind;
}

/**
 * The members of an answer that this version does not know, under their names on the wire. `console.log` and
 * `JSON.stringify` do not show them.
 *
 * @param record - An object that the client returned; any other has no such members.
 */
export function extra(record: object): Readonly<Record<string, unknown>> {
  return AnsweredRecord.extra(record);
}

/**
 * The JSON value of an answer as on the wire, with its secrets and with members that this version does not know.
 *
 * @param value - An object that the client returned. Params are accepted, too.
 * @throws `TypeError` - A number is not finite, or a `bigint` is given: integers of the contract are numbers.
 */
export function toWire(value: unknown): unknown {
  switch (typeof value) {
    case "number":
      if (!Number.isFinite(value)) throw new TypeError("a number of the params is not finite");
      return value;
    case "bigint":
      throw new TypeError("integers of the contract are numbers, within 2^53 - 1");
    case "object":
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (Array.isArray(value)) return value.map(toWire);
  if (value instanceof Date) return value.toISOString();
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const hidden = AnsweredRecord.hidden(value);
  if (hidden) members.push(...Object.entries(hidden));
  return Object.fromEntries(members.map(([name, member]) => [name, toWire(member)]));
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// What the generated tables are made of.

/** @internal */
export const required = (decode: Decoder): Member => ({ decode, isRequired: true, isSecret: false });

/** @internal */
export const optional = (decode: Decoder): Member => ({ decode, isRequired: false, isSecret: false });

/** @internal */
export const secret = (member: Member): Member => ({ ...member, isSecret: true });

/** @internal */
export const anything: Decoder = (value) => value;

/** @internal */
export const text: Decoder = (value) => {
  if (typeof value !== "string") throw new Mismatch("not a string");
  return value;
};

/** @internal */
export const integer: Decoder = (value) => {
  if (!Number.isSafeInteger(value)) throw new Mismatch("not an integer within 2^53 - 1");
  return value;
};

/** @internal */
export const boolean: Decoder = (value) => {
  if (typeof value !== "boolean") throw new Mismatch("not a boolean");
  return value;
};

// RFC 3339, section 5.6. The agent writes UTC with milliseconds; other offsets and fractions are accepted.
const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** @internal A leap second is read as the second before it. */
export const instant: Decoder = (value) => {
  const parts = typeof value === "string" ? INSTANT.exec(value) : null;
  if (!parts) throw new Mismatch("not an instant");
  const [, day, minute, second, fraction = "", offset = ""] = parts;
  const leapless = second === "60" ? "59" : second;
  const date = new Date(`${day}T${minute}${leapless}${fraction.slice(0, 4)}${offset.toUpperCase()}`);
  if (Number.isNaN(date.getTime())) throw new Mismatch("not an instant");
  return date;
};

/** @internal */
export const list =
  (element: Decoder): Decoder =>
  (value) => {
    if (!Array.isArray(value)) throw new Mismatch("not an array");
    return value.map((member, index) => at(index, element, member));
  };

/** @internal */
export const map =
  (element: Decoder): Decoder =>
  (value) => {
    if (!isObject(value)) throw new Mismatch("not an object");
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, at(name, element, member)]));
  };

function at(name: string | number, decode: Decoder, value: unknown): unknown {
  try {
    return decode(value);
  } catch (error) {
    throw error instanceof Mismatch ? error.within(name) : error;
  }
}

/** @internal A member of an error's data; `undefined` if it is absent or of another type. */
export function told<T>(decode: Decoder, value: unknown): T | undefined {
  try {
    return value === undefined || value === null ? undefined : (decode(value) as T);
  } catch {
    return undefined;
  }
}
