/** One request as a client sends it, and what is known about it afterwards. */
import type { AttemptOutcome } from '../records.ts';

export interface Answer {
  readonly begun: number;
  readonly ended: number;
  readonly outcome: AttemptOutcome;
  readonly headers?: Headers;
  /** The envelope's `data`; undefined if no complete response came. */
  readonly data?: unknown;
  /** The whole body: endpoints of OpenAI's API have no envelope. */
  readonly body?: unknown;
}

export interface Ask {
  readonly url: string;
  readonly key: string;
  readonly method?: string;
  /** A form is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** After this time the client goes away. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 8_000;

/** Sends a request once. It never throws: a missing response is an outcome, too. */
export async function ask({
  url,
  key,
  method = 'GET',
  body,
  headers = {},
  timeoutMs = TIMEOUT_MS,
}: Ask): Promise<Answer> {
  const begun = Date.now();
  const isJson = body !== undefined && !(body instanceof FormData);
  try {
    const response = await fetch(url, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(isJson ? { 'Content-Type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const json = (await response.json()) as { data?: unknown; error_code?: string };
    const outcome = { kind: 'answer', status: response.status, errorCode: json.error_code ?? '' } as const;
    return { begun, ended: Date.now(), outcome, headers: response.headers, data: json.data, body: json };
  } catch (error) {
    return { begun, ended: Date.now(), outcome: { kind: 'unknown', why: whyOf(error) } };
  }
}

/** Why no complete response came, in a word. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code === '' ? error.name : code;
}

export function statusOf(outcome: AttemptOutcome): number {
  return outcome.kind === 'answer' ? outcome.status : 0;
}
