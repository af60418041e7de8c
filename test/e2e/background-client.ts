/** A client of responses in the background that goes on at the next api when one is gone. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@darkroom/testing/wait-for';

export interface WireResponse {
  readonly id: string;
  readonly status: string;
  readonly background: boolean;
  readonly output: readonly unknown[];
  readonly error: { readonly code: string } | null;
}

interface WireEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: WireResponse;
}

/** How a model that answers slowly is asked for a long answer: about three seconds. */
export const SLOW_MODEL = 'acme/slow-background';
export const LONG_ANSWER = {
  model: SLOW_MODEL,
  input: 'Count from 1 to 400, please.',
  max_output_tokens: 60,
  background: true,
};

export class BackgroundClient {
  readonly #urls: readonly string[];
  readonly #key: string;

  constructor(urls: readonly string[], key: string) {
    this.#urls = urls;
    this.#key = key;
  }

  /** @param key its Idempotency-Key. */
  async create(body: Readonly<Record<string, unknown>>, key?: string): Promise<WireResponse> {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    const response = await this.#send('POST', '', body, headers);
    assert.equal(response.status, 200);
    return (await response.json()) as WireResponse;
  }

  async get(id: string): Promise<WireResponse> {
    return (await (await this.#send('GET', `/${id}`)).json()) as WireResponse;
  }

  async cancel(id: string): Promise<WireResponse> {
    return (await (await this.#send('POST', `/${id}/cancel`)).json()) as WireResponse;
  }

  async waitForStatus(id: string, ...statuses: readonly string[]): Promise<WireResponse> {
    let response: WireResponse | undefined;
    await waitFor(`${id} is ${statuses.join(' or ')}`, async () => {
      response = await this.get(id);
      return statuses.includes(response.status);
    });
    return response ?? assert.fail('it was never read');
  }

  /** All events of a stream, continued wherever a connection ended too early. */
  async follow(id: string): Promise<readonly WireEvent[]> {
    const events: WireEvent[] = [];
    for (;;) {
      const after = events.length === 0 ? '' : `&starting_after=${events.length - 1}`;
      const isOver = await this.#readStream(`/${id}?stream=true${after}`, events).catch(() => false);
      if (isOver) return events;
      await sleep(100);
    }
  }

  /** @returns whether the stream came to its end. */
  async #readStream(path: string, events: WireEvent[]): Promise<boolean> {
    const response = await this.#send('GET', path);
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        if (data === '[DONE]') return true;
        if (data !== undefined) events.push(JSON.parse(data) as WireEvent);
      }
    }
    return false;
  }

  /** Retries at the next api until one answers. */
  async #send(
    method: string,
    path: string,
    body?: Readonly<Record<string, unknown>>,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const headers = { Authorization: `Bearer ${this.#key}`, 'Content-Type': 'application/json', ...more };
    const options = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    for (let attempt = 0; ; attempt++) {
      const url = this.#urls[attempt % this.#urls.length];
      const response = await fetch(`${url}/v1/responses${path}`, options).catch(() => undefined);
      if (response !== undefined && response.status < 500) return response;
      await sleep(100);
    }
  }
}
