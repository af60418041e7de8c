/**
 * A client that sees what users see behind the proxy, and counts it: it gives up on an answer after some seconds, and
 * repeats reads. Creates are repeated by its caller, under the same key.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { ApiClient } from '../support/api-client.ts';
import type { ApiAnswer, ApiBody } from '../support/api-client.ts';

const ANSWER_TIMEOUT_MS = 10_000;
const READ_AGAIN_MS = 200;
/** What a proxy answers for apis that do not. */
const OF_THE_PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** What clients saw, and how often: `200`, `503 unavailable`, `502 by the proxy`, `no answer`. */
export type Seen = ReadonlyMap<string, number>;

export class HostsClient extends ApiClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #seen = new Map<string, number>();
  #unclear: string[] = [];

  constructor(url: string, key: string) {
    // A proxy that ends TLS is in front of the one that is tested.
    const headers = { 'X-Forwarded-Proto': 'https' };
    super([url], key, headers);
    this.#url = url;
    this.#headers = { Authorization: `Bearer ${key}`, ...headers };
  }

  /** @returns what was seen since the last call. */
  takeSeen(): Seen {
    const seen = this.#seen;
    this.#seen = new Map();
    return seen;
  }

  /** @returns the answers since the last call that do not say what is wrong. */
  takeUnclear(): readonly string[] {
    const unclear = this.#unclear;
    this.#unclear = [];
    return unclear;
  }

  override async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer> {
    for (const endsAt = Date.now() + GIVE_UP_MS; ; await sleep(READ_AGAIN_MS)) {
      try {
        return await this.#sendOnce(method, path, body, headers);
      } catch (error) {
        if (method !== 'GET' || Date.now() > endsAt) throw error;
      }
    }
  }

  /** @throws {Error} there was no answer of an api. */
  async #sendOnce(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<ApiAnswer> {
    const hasBody = body !== undefined;
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${this.#url}${path}`, {
        method,
        headers: { ...this.#headers, ...(hasBody ? { 'Content-Type': 'application/json' } : {}), ...headers },
        ...(hasBody ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      text = await response.text();
    } catch (error) {
      this.#count(error instanceof DOMException ? `no answer in ${ANSWER_TIMEOUT_MS / 1_000} s` : 'connection lost');
      throw error;
    }
    const { status } = response;
    if (text === '' && OF_THE_PROXY.has(status)) {
      this.#count(`${status} by the proxy`);
      throw new Error(`the proxy answered ${status}`);
    }
    return this.#read(response, text);
  }

  #read({ status, headers }: Response, text: string): ApiAnswer {
    // Any JSON, as in ApiClient.
    const body = JSON.parse(text) as ApiBody;
    this.#count(status === 200 ? '200' : `${status} ${body.error_code}`);
    const isClear =
      status === 200 || (status === 503 && body.message !== '' && Number(headers.get('Retry-After') ?? 0) > 0);
    if (!isClear) this.#unclear.push(`${status} ${text}`);
    return { status, headers, body };
  }

  #count(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }
}
