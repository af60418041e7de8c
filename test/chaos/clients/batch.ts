/**
 * A batch, as a careful client has one: a file of lines is uploaded and the batch created with a key until there is an
 * answer, polled to its end, sometimes cancelled, and made again if the database lost it.
 */
import type { BatchAnswer, BatchEndpoint } from '../records.ts';
import { hasBatchEnded } from '../records.ts';
import { TEXT_MODEL } from '../world/models.ts';
import { ask, statusOf } from './ask.ts';
import { isRejection, pause } from './background.ts';
import type { DurableClient } from './background.ts';

export interface BatchWish {
  /** Unlike any other of the account. */
  readonly name: string;
  readonly endpoint: BatchEndpoint;
  readonly model: string;
  /** The words in the prompt of each line; undefined: the line is no request of the endpoint. */
  readonly lines: readonly (string | undefined)[];
  readonly cancelAfterMs?: number | undefined;
}

/** What a batch is created with: the same in each attempt. */
export interface BatchRequest {
  readonly key: string;
  readonly endpoint: BatchEndpoint;
  readonly fileId: string;
  readonly markers: readonly string[];
}

const POLL_MS = 900;
const RETRY_MS = 400;

/** @param onBatch called with the id of each batch that was made of it: more than one only if its file was lost. */
export async function runBatch(
  client: DurableClient,
  wish: BatchWish,
  first: number,
  onBatch: (batchId: string) => void = () => undefined,
): Promise<void> {
  // A file that was lost is uploaded again, under other markers: it makes another batch.
  for (let upload = 0; !client.end.aborted; upload++) {
    const markers = wish.lines.map((_, line) => `marker-${client.account}-${wish.name}-${upload}-${line}-`);
    const uploaded = await uploadFile(client, linesOf(wish, markers), first + upload);
    if (isRejection(uploaded.status) && uploaded.status !== 408) return;
    if (uploaded.fileId === undefined) {
      await pause(RETRY_MS, client.end);
      continue;
    }
    const key = `${client.account}-${wish.name}-${upload}`;
    const request = { key, endpoint: wish.endpoint, fileId: uploaded.fileId, markers };
    if (await runUploaded(client, request, wish.cancelAfterMs, first, onBatch)) return;
  }
}

/** @returns false: its file was lost. */
async function runUploaded(
  client: DurableClient,
  request: BatchRequest,
  cancelAfterMs: number | undefined,
  first: number,
  onBatch: (batchId: string) => void,
): Promise<boolean> {
  for (let index = first; !client.end.aborted; index++) {
    const { status, batchId } = await createBatch(client, request, index);
    if (batchId !== undefined) {
      onBatch(batchId);
      if ((await followBatch(client, batchId, cancelAfterMs, index)) !== 'gone') return true;
    } else if (isRejection(status)) return status !== 400;
    await pause(RETRY_MS, client.end);
  }
  return true;
}

function linesOf({ endpoint, model, lines }: BatchWish, markers: readonly string[]): string {
  const bodyOf = (marker: string, words: string): object =>
    endpoint === '/v1/tasks'
      ? { model, input: { prompt: `${marker} a lake ${words}` }, metadata: { marker } }
      : {
          model: TEXT_MODEL,
          max_tokens: 50,
          messages: [{ role: 'user', content: `${marker} say something ${words}` }],
        };
  const texts = lines.map((words, line) => {
    const marker = markers[line] ?? '';
    const body = words === undefined ? { model, wrong: true } : bodyOf(marker, words);
    return JSON.stringify({ custom_id: marker, method: 'POST', url: endpoint, body });
  });
  return `${texts.join('\n')}\n`;
}

/** @returns the status, 0 if no complete response came, and the id of the file if it was accepted. */
async function uploadFile(
  { account, apiKey: key, apiUrls, record }: DurableClient,
  content: string,
  index: number,
): Promise<{ readonly status: number; readonly fileId: string | undefined }> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([content]), 'lines.jsonl');
  const url = `${apiUrls[index % apiUrls.length]}/v1/files`;
  const { begun, ended, outcome, body } = await ask({ method: 'POST', url, key, body: form });
  record({ kind: 'upload', account, begun, ended, outcome });
  const status = statusOf(outcome);
  return { status, fileId: status === 200 ? (body as { id: string }).id : undefined };
}

/** One attempt. @returns the status, 0 if no complete response came, and the id if it was accepted. */
export async function createBatch(
  { account, apiKey, apiUrls, record }: Omit<DurableClient, 'end'>,
  { key, endpoint, fileId, markers }: BatchRequest,
  index: number,
): Promise<{ readonly status: number; readonly batchId: string | undefined }> {
  const { begun, ended, outcome, body } = await ask({
    method: 'POST',
    url: `${apiUrls[index % apiUrls.length]}/v1/batches`,
    key: apiKey,
    headers: { 'Idempotency-Key': key },
    body: { input_file_id: fileId, endpoint, completion_window: '24h' },
  });
  const status = statusOf(outcome);
  const batchId = status === 200 ? (body as BatchAnswer).id : undefined;
  const accepted = batchId === undefined ? {} : { batchId };
  record({ kind: 'batch', account, key, endpoint, fileId, markers, begun, ended, outcome, ...accepted });
  return { status, batchId };
}

async function followBatch(
  { account, apiKey: key, apiUrls, record, end }: DurableClient,
  batchId: string,
  cancelAfterMs: number | undefined,
  first: number,
): Promise<'ended' | 'gone' | undefined> {
  const since = Date.now();
  let isCancelled = cancelAfterMs === undefined;
  for (let look = first; !end.aborted; look++) {
    const url = `${apiUrls[look % apiUrls.length]}/v1/batches/${batchId}`;
    if (!isCancelled && Date.now() - since >= (cancelAfterMs ?? 0)) {
      const { begun, ended, outcome } = await ask({ method: 'POST', url: `${url}/cancel`, key });
      record({ kind: 'batch-cancel', account, id: batchId, begun, ended, outcome });
      // It may have ended before.
      isCancelled = outcome.kind === 'answer' && (outcome.status === 200 || isRejection(outcome.status));
    }
    const { begun, ended, outcome, body } = await ask({ url, key });
    const status = statusOf(outcome) === 200 ? (body as BatchAnswer).status : undefined;
    const found = status === undefined ? {} : { status };
    record({ kind: 'batch-read', account, batchId, begun, ended, outcome, ...found });
    if (statusOf(outcome) === 404) return 'gone';
    if (status !== undefined && hasBatchEnded(status)) return 'ended';
    await pause(POLL_MS, end);
  }
  return undefined;
}
