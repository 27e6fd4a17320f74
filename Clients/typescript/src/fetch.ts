import type { CallOptions } from "./caller.js";
import { OriginRefusedError, ProtocolError } from "./errors.js";
import { NotFoundError } from "./generated/errors.js";
import type { Methods } from "./generated/methods.js";
import type { Token } from "./generated/types.js";

/** Redirects in a row that are followed, as in the Fetch standard. */
const MAXIMUM_REDIRECTS = 20;

/** The longest challenge that `token.reject` takes. */
const MAXIMUM_CHALLENGE = 4096;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** What `client.fetcher` takes. */
export interface FetchOptions {
  /** The account whose token is sent: an id, an alias, or `@active`. */
  readonly account: string;
  /** The origins that get the token, such as `https://api.example`: `https`, or `http` at a loopback address. */
  readonly origins: readonly string[];
  /** The scopes that the token must have. */
  readonly scopes?: readonly string[] | undefined;
  /** The resource (RFC 8707) that the token is for. */
  readonly resource?: string | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Like the global `fetch`, with an access token of an account.
 *
 * The token goes to the named origins only. A redirect to another origin is followed as `fetch` follows it, and gets
 * neither the token nor a proof.
 *
 * @throws `OriginRefusedError` - None of the origins covers the URL. Nothing was sent.
 * @throws `TypeError` - The request failed, as `fetch` tells it.
 * @throws `LanyardError` - There is no token, such as `ReauthenticationRequiredError`.
 */
export type AuthorizedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Binds `fetch` to an account and to origins. */
export function makeFetch(client: Methods, options: FetchOptions): AuthorizedFetch {
  const origins = new Set(options.origins.map(originOf));
  const nonces = new Map<string, string>();
  return (input, init) => new Exchange(client, options, origins, nonces).send(input, init);
}

/** One call of an `AuthorizedFetch`, with its redirects. */
class Exchange {
  #token: Token | undefined;
  /** A token is reported once: the second 401 is the answer. */
  #hasReported = false;

  constructor(
    readonly client: Methods,
    readonly options: FetchOptions,
    readonly origins: ReadonlySet<string>,
    readonly nonces: Map<string, string>,
  ) {}

  async send(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const request = new Outgoing(input, init);
    if (!this.origins.has(request.url.origin)) {
      throw new OriginRefusedError("the token may not go to this URL: none of the origins covers it");
    }
    const mode = init.redirect ?? (input instanceof Request ? input.redirect : "follow");
    for (let redirects = 0; ; redirects += 1) {
      const isCovered = this.origins.has(request.url.origin) && !request.hasLeft;
      const response = isCovered ? await this.#authorized(request) : await this.#plain(request);
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null || mode === "manual") return response;
      await discard(response);
      if (mode === "error") throw new TypeError("the server redirects, and `redirect` is `error`");
      if (redirects === MAXIMUM_REDIRECTS) throw new TypeError("the server redirects too often");
      request.follow(response.status, location);
    }
  }

  /** Sends the request with the token; at most once more with a nonce, and once more with another token. */
  async #authorized(request: Outgoing): Promise<Response> {
    let isNonceKnown = false;
    for (;;) {
      const { token, headers } = await this.#authorization(request);
      const response = await this.#plain(request, headers);
      const nonce = response.headers.get("dpop-nonce");
      if (nonce !== null) this.nonces.set(request.url.origin, nonce);
      if (response.status !== 401) return response;
      const challenge = response.headers.get("www-authenticate") ?? "";
      if (isBound(token) && nonce !== null && !isNonceKnown && wantsNonce(challenge)) {
        if (!request.canBeSentAgain) return response;
        isNonceKnown = true;
      } else {
        if (this.#hasReported) return response;
        this.#hasReported = true;
        try {
          this.#token = await this.#reject(request, token, challenge);
        } catch (error) {
          await discard(response);
          throw error;
        }
        if (!request.canBeSentAgain) return response;
      }
      await discard(response);
    }
  }

  #get(account: string, callOptions: CallOptions): Promise<Token> {
    const { scopes, resource } = this.options;
    return this.client.token.get({ account, scopes, resource }, callOptions);
  }

  #reject(request: Outgoing, token: Token, challenge: string): Promise<Token> {
    return this.client.token.reject(
      {
        account: this.#accountOf(token),
        fingerprint: token.fingerprint,
        challenge: challenge !== "" && challenge.length <= MAXIMUM_CHALLENGE ? challenge : undefined,
      },
      request.callOptions,
    );
  }

  /** The account for what is said about a token: `@active` may be another one by now. */
  #accountOf(token: Token): string {
    return this.options.account === "@active" ? token.account : this.options.account;
  }

  /** The token to send, and the headers that carry it. */
  async #authorization(request: Outgoing): Promise<{ token: Token; headers: Record<string, string> }> {
    let token = (this.#token ??= await this.#get(this.options.account, request.callOptions));
    let dpop: string | undefined;
    if (isBound(token)) {
      try {
        dpop = await this.#proof(request, token);
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error;
        // The token was replaced meanwhile: the agent proves only the latest.
        token = this.#token = await this.#get(this.#accountOf(token), request.callOptions);
        dpop = isBound(token) ? await this.#proof(request, token) : undefined;
      }
    }
    const { tokenType, accessToken } = token;
    // `Headers` quotes a value that it refuses.
    if (!/^[!-~]+$/.test(accessToken)) throw new ProtocolError("the access token does not fit into a header");
    const authorization = `${tokenType} ${accessToken}`;
    return { token, headers: dpop === undefined ? { authorization } : { authorization, dpop } };
  }

  async #proof(request: Outgoing, token: Token): Promise<string> {
    const { proof } = await this.client.token.proof(
      {
        account: this.#accountOf(token),
        method: request.method,
        // Query and fragment are not part of a proof, may be long, and are nothing for the agent.
        url: request.url.origin + request.url.pathname,
        fingerprint: token.fingerprint,
        nonce: this.nonces.get(request.url.origin),
      },
      request.callOptions,
    );
    return proof;
  }

  #plain(request: Outgoing, authorization: Record<string, string> = {}): Promise<Response> {
    const send = this.options.fetch ?? fetch;
    return send(request.url, request.init(authorization));
  }
}

/** A request that may be sent more than once. */
class Outgoing {
  url: URL;
  method: string;
  /** True after a redirect to another origin: from there on nothing gets the token. */
  hasLeft = false;
  readonly callOptions: CallOptions;
  readonly #init: RequestInit;
  readonly #headers: Headers;
  #body: BodyInit | null;

  constructor(input: string | URL | Request, init: RequestInit) {
    const request = input instanceof Request ? input : undefined;
    this.url = parsed(request ? request.url : String(input));
    this.method = canonical(init.method ?? request?.method ?? "GET");
    this.#headers = new Headers(init.headers ?? request?.headers);
    this.#body = init.body !== undefined ? init.body : request?.body ?? null;
    this.#init = init;
    this.callOptions = { signal: init.signal ?? request?.signal };
  }

  /** True if the body can be sent a second time. A stream can't. */
  get canBeSentAgain(): boolean {
    const body: unknown = this.#body;
    return (
      body === null ||
      typeof body === "string" ||
      body instanceof URLSearchParams ||
      body instanceof Blob ||
      body instanceof FormData ||
      body instanceof ArrayBuffer ||
      ArrayBuffer.isView(body)
    );
  }

  init(authorization: Record<string, string>): RequestInit {
    const headers = new Headers(this.#headers);
    for (const [name, value] of Object.entries(authorization)) headers.set(name, value);
    const { method } = this;
    const body = this.#body;
    const duplex = this.canBeSentAgain ? {} : { duplex: "half" };
    const signal = this.callOptions.signal ?? null;
    // Redirects are followed here, so that the token never follows one to another origin.
    return { ...this.#init, ...duplex, method, headers, body, signal, redirect: "manual" };
  }

  /** Goes on to the next URL, as the Fetch standard says (HTTP-redirect fetch). */
  follow(status: number, location: string): void {
    const next = new URL(location, this.url);
    if (!["http:", "https:"].includes(next.protocol)) throw new TypeError("the server redirects to another scheme");
    if (next.username !== "" || next.password !== "") throw new TypeError("the server redirects to a URL with a user");
    if (status !== 303 && !this.canBeSentAgain) throw new TypeError("a body that is a stream can't be sent again");
    const isWrite = !["GET", "HEAD"].includes(this.method);
    if ((status <= 302 && this.method === "POST") || (status === 303 && isWrite)) {
      this.method = "GET";
      this.#body = null;
      for (const name of ["encoding", "language", "length", "location", "type"]) {
        this.#headers.delete(`content-${name}`);
      }
    }
    if (next.origin !== this.url.origin) {
      this.hasLeft = true;
      for (const name of ["authorization", "cookie", "dpop", "host", "proxy-authorization"]) this.#headers.delete(name);
    }
    if (next.hash === "") next.hash = this.url.hash;
    this.url = next;
  }
}

/** The URL; its user and password would go to the server in place of the token. */
function parsed(text: string): URL {
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // The error quotes the text, which may hold a password.
  }
  if (!url) throw new OriginRefusedError("the token may not go to what is no URL");
  if (url.username !== "" || url.password !== "") {
    throw new OriginRefusedError("the token may not go to a URL with a user or a password");
  }
  return url;
}

function originOf(text: string): string {
  const url = parsed(text);
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw new OriginRefusedError("an origin has a scheme, a host and a port, and no more");
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    throw new OriginRefusedError("the token may only go over https, or to a loopback address");
  }
  return url.origin;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function isBound(token: Token): boolean {
  return token.tokenType.toLowerCase() === "dpop";
}

// RFC 9449, section 9.
function wantsNonce(challenge: string): boolean {
  return /\bdpop\b/i.test(challenge) && /\berror\s*=\s*"?use_dpop_nonce\b/i.test(challenge);
}

/** The method as `fetch` sends it, and as the proof must name it. */
function canonical(method: string): string {
  const upper = method.toUpperCase();
  return ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"].includes(upper) ? upper : method;
}

/** Frees the connection of a response that is not read. */
async function discard(response: Response): Promise<void> {
  try {
    await response.body?.cancel();
  } catch {
    // The server ended the body early.
  }
}
