/** The machine that an attacker sends from: an address of its own on the loopback, and a log. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Agent, fetch } from 'undici';
import { openLedger } from '../../chaos/ledger-file.ts';
import type { Random } from '@darkroom/testing/random';
import type { AttackLine } from './attack-log.ts';

/** A longer wait means that the response was held back: an attacker does not mind. */
const TIMEOUT_MS = 40_000;

/** What an attacker does repeatedly. */
export interface Attack {
  readonly name: string;
  /** How many run at once. */
  readonly lanes: number;
  /** Between two requests of a lane. */
  readonly pauseMs: number;
  run(host: Host, number: number): Promise<void>;
}

export interface HostOptions {
  readonly attacker: string;
  /** `127.0.0.2`: limits by address see it as another machine. */
  readonly address: string;
  readonly apiUrls: readonly string[];
  /** Undefined: it has none. */
  readonly key: string | undefined;
  readonly log: string;
  readonly random: Random;
}

export interface Host {
  readonly attacker: string;
  readonly random: Random;
  readonly key: string | undefined;
  /** Sends a request, to each api in turn, and logs the outcome. @returns the JSON of the response. */
  send(
    attack: string,
    method: string,
    path: string,
    body?: string | Buffer | Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** A connection for arbitrary bytes. What comes back is read and counted, never stored. */
  open(attack: string): Socket;
  /** The head of a request in the form in which it is sent. */
  head(method: string, path: string, headers: Readonly<Record<string, string>>): string;
}

export function openHost({ attacker, address, apiUrls, key, log, random }: HostOptions): Host {
  const write = openLedger<AttackLine>(log);
  const dispatcher = new Agent({ connect: { localAddress: address }, connections: 64 });
  let sent = 0;
  const nextApi = (): string => apiUrls[sent++ % apiUrls.length] ?? '';
  const own: Record<string, string> = {
    // As the dashboard's own pages send it: without it no session starts.
    origin: apiUrls[0] ?? '',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };

  return {
    attacker,
    random,
    key,
    async send(attack, method, path, body, headers = {}) {
      const isJson = body !== undefined && !Buffer.isBuffer(body);
      const begun = performance.now();
      const done = (status: number, errorCode: string, hasRetryAfter: boolean): void =>
        write({ attacker, attack, ms: Math.round(performance.now() - begun), status, errorCode, hasRetryAfter });
      try {
        const response = await fetch(nextApi() + path, {
          method,
          headers: { ...own, ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
          ...(body === undefined
            ? {}
            : { body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
          signal: AbortSignal.timeout(TIMEOUT_MS),
          dispatcher,
        });
        const text = await response.text();
        const json = parse(text);
        const code = json?.['error_code'];
        done(response.status, typeof code === 'string' ? code : '', response.headers.has('retry-after'));
        return json;
      } catch {
        done(0, '', false);
        return undefined;
      }
    },
    open(attack) {
      const { hostname, port } = new URL(nextApi());
      const socket = connect({ host: hostname, port: Number(port), localAddress: address });
      const begun = performance.now();
      let first = '';
      socket.on('data', (bytes: Buffer) => {
        if (first.length < 4_096) first += bytes.toString('latin1');
      });
      socket.on('error', () => undefined);
      socket.once('close', () => {
        const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(first) ?? [];
        const hasRetryAfter = /^retry-after:/im.test(first);
        const ms = Math.round(performance.now() - begun);
        write({ attacker, attack, ms, status: Number(status), errorCode: '', hasRetryAfter });
      });
      return socket;
    },
    head(method, path, headers) {
      const all: Record<string, string> = { host: 'attacked', ...own, ...headers };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
      return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
    },
  };
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
