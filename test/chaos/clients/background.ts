/**
 * A response in the background, as a careful client has one: created with a key that is repeated until there is an
 * answer, polled to its end, sometimes cancelled, and created again if the database lost it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { hasResponseEnded } from '../records.ts';
import type { ClientLine, ResponseAnswer } from '../records.ts';
import { TEXT_MODEL } from '../world/models.ts';
import { ask, statusOf } from './ask.ts';

/** Whose work it is that no connection waits for. */
export interface DurableClient {
  readonly account: string;
  readonly apiKey: string;
  readonly apiUrls: readonly string[];
  readonly record: (line: ClientLine) => void;
  /** Nothing is asked any more from then on. */
  readonly end: AbortSignal;
}

export interface BackgroundWish {
  readonly key: string;
  readonly marker: string;
  readonly prompt: string;
  readonly cancelAfterMs?: number | undefined;
}

const POLL_MS = 700;
const RETRY_MS = 400;

export async function callInBackground(client: DurableClient, wish: BackgroundWish, first: number): Promise<void> {
  for (let index = first; !client.end.aborted; index++) {
    const responseId = await createUntilAnswered(client, wish, index);
    if (responseId === undefined) return;
    if ((await followResponse(client, responseId, wish.cancelAfterMs, index)) !== 'gone') return;
  }
}

/** @returns the id, once an attempt was answered with it; undefined: rejected, or never answered. */
async function createUntilAnswered(
  client: DurableClient,
  wish: BackgroundWish,
  first: number,
): Promise<string | undefined> {
  for (let index = first; !client.end.aborted; index++) {
    const { status, responseId } = await createResponse(client, wish, index);
    if (responseId !== undefined) return responseId;
    if (isRejection(status)) return undefined;
    await pause(RETRY_MS, client.end);
  }
  return undefined;
}

/** One attempt. @returns the status, 0 if no complete response came, and the id if it was accepted. */
export async function createResponse(
  { account, apiKey, apiUrls, record }: Omit<DurableClient, 'end'>,
  { key, marker, prompt }: BackgroundWish,
  index: number,
): Promise<{ readonly status: number; readonly responseId: string | undefined }> {
  const { begun, ended, outcome, body } = await ask({
    method: 'POST',
    url: `${apiUrls[index % apiUrls.length]}/v1/responses`,
    key: apiKey,
    headers: { 'Idempotency-Key': key },
    body: { model: TEXT_MODEL, input: prompt, max_output_tokens: 50, background: true },
  });
  const status = statusOf(outcome);
  const responseId = status === 200 ? (body as ResponseAnswer).id : undefined;
  const accepted = responseId === undefined ? {} : { responseId };
  record({ kind: 'background', account, key, marker, prompt, begun, ended, outcome, ...accepted });
  return { status, responseId };
}

async function followResponse(
  client: DurableClient,
  responseId: string,
  cancelAfterMs: number | undefined,
  first: number,
): Promise<'ended' | 'gone' | undefined> {
  const since = Date.now();
  const { account, apiKey: key, apiUrls, record, end } = client;
  let isCancelled = cancelAfterMs === undefined;
  for (let look = first; !end.aborted; look++) {
    if (!isCancelled && Date.now() - since >= (cancelAfterMs ?? 0)) {
      const url = `${apiUrls[look % apiUrls.length]}/v1/responses/${responseId}/cancel`;
      const { begun, ended, outcome } = await ask({ method: 'POST', url, key });
      record({ kind: 'response-cancel', account, id: responseId, begun, ended, outcome });
      isCancelled = statusOf(outcome) === 200;
    }
    const response = await readResponse(client, responseId, look);
    if (response === 'gone') return 'gone';
    if (response !== undefined && hasResponseEnded(response.status)) {
      // Once more from the other api, later: the end of a response never changes.
      await pause(POLL_MS, end);
      await readResponse(client, responseId, look + 1);
      return 'ended';
    }
    await pause(POLL_MS, end);
  }
  return undefined;
}

async function readResponse(
  { account, apiKey: key, apiUrls, record }: DurableClient,
  responseId: string,
  index: number,
): Promise<ResponseAnswer | 'gone' | undefined> {
  const url = `${apiUrls[index % apiUrls.length]}/v1/responses/${responseId}`;
  const { begun, ended, outcome, body } = await ask({ url, key });
  const response = statusOf(outcome) === 200 ? (body as ResponseAnswer) : undefined;
  const found = response === undefined ? {} : { response };
  record({ kind: 'response', account, responseId, begun, ended, outcome, ...found });
  return statusOf(outcome) === 404 ? 'gone' : response;
}

/** Whether repeating the request would not help. */
export function isRejection(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429 && status !== 409;
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
