/**
 * Attacks by work that goes on when its request has been answered: batches, calls in the background, jobs whose answers
 * take long to read, and uploads that are completed again and again. What they attack is shared by all accounts: the
 * slots of batches and of background calls, threads, memory and disks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FLOODED_MODEL, SLOW_TEXT_MODEL } from '../../chaos/world/models.ts';
import type { Attack, Host } from './host.ts';

/** What nothing comes of, however long it is read. */
const NOTHINGS = ['\n', ' \r\n', 'x\n', '\0'].map((bytes) => () => Buffer.alloc(4_000_000, bytes));
/** Lines as large as they may be: of one text, and of as many values as JSON may have. */
const LARGE_TEXT = 'x'.repeat(9_900_000);
const MANY_VALUES = Array.from({ length: 4 }, () => Array.from({ length: 12_000 }, () => 'x'.repeat(190)));
const LINES_OF_A_FILE = 6;
/** Longer than the account's calls take, so that as many are open as it may have. */
const BACKGROUND_HOLD_MS = 45_000;
/** More than an account may have running, so that the others wait. */
const BACKGROUND_LANES = 110;
const PART_BYTES = 30_000_000;
/** In so many orders the parts of one upload are hashed, and some more. */
const COMPLETIONS_OF_AN_UPLOAD = 14;

interface Line {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, string>>;
}

function fileOf(lines: readonly Line[]): Buffer {
  const requests = lines.map((body, line) => ({ custom_id: `line-${line}`, method: 'POST', url: '/v1/tasks', body }));
  return Buffer.from(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
}

/** Sends bytes as the file of a form. @returns the id that it got. */
async function sendFile(
  host: Host,
  attack: string,
  path: string,
  field: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const form = new FormData();
  if (field === 'file') form.append('purpose', 'batch');
  form.append(field, new Blob([bytes]), 'lines.jsonl');
  const encoded = new Response(form);
  const type = { 'content-type': encoded.headers.get('content-type') ?? '' };
  const body = Buffer.from(await encoded.arrayBuffer());
  const answer = await host.send(attack, 'POST', path, body, { ...type, ...headers });
  const id = answer?.['id'];
  return typeof id === 'string' ? id : undefined;
}

async function sendBatch(host: Host, attack: string, fileId: string, headers = {}): Promise<void> {
  const batch = { input_file_id: fileId, endpoint: '/v1/tasks', completion_window: '24h' };
  await host.send(attack, 'POST', '/v1/batches', batch, headers);
}

export const BATCHES: Attack = {
  name: 'batches of nothing',
  lanes: 1,
  pauseMs: 2_000,
  async run(host, number) {
    const make = NOTHINGS[number % NOTHINGS.length];
    const id = await sendFile(host, this.name, '/v1/files', 'file', make?.() ?? Buffer.of());
    if (id !== undefined) await sendBatch(host, this.name, id);
  },
};

/** A file is sent once, and is the input of any number of batches. */
function sendOnce(send: (host: Host, attack: string, index: number) => Promise<string | undefined>) {
  const sent: (string | undefined)[] = [];
  return async (host: Host, attack: string, index: number): Promise<string | undefined> =>
    (sent[index] ??= await send(host, attack, index));
}

const largeFile = sendOnce((host, attack, index) => {
  const input = index === 0 ? { prompt: LARGE_TEXT } : { prompt: 'x', many: MANY_VALUES };
  const bytes = fileOf(Array.from({ length: LINES_OF_A_FILE }, () => ({ model: 'chaos/keyed', input })));
  return sendFile(host, attack, '/v1/files', 'file', bytes);
});

export const LARGE_LINES: Attack = {
  name: 'batches of large lines',
  lanes: 1,
  pauseMs: 2_500,
  async run(host, number) {
    const id = await largeFile(host, this.name, number % 2);
    if (id !== undefined) await sendBatch(host, this.name, id);
  },
};

/** A key that may spend in a day what one line costs, and not what two do: a line that can never be paid is rejected. */
const waitingFile = sendOnce(async (host, attack) => {
  const scopes = ['tasks:read', 'tasks:write', 'storage:read', 'storage:write'];
  const created = await host.send(attack, 'POST', '/v1/account/keys', {
    name: 'capped',
    scopes,
    spendCaps: { day: '0.04' },
  });
  const { key } = (created?.['data'] ?? {}) as { key?: string };
  if (key === undefined) return undefined;
  cappedKey.authorization = `Bearer ${key}`;
  // Without markers: the file is the input of many batches, and each has tasks of its own.
  const lines = Array.from({ length: 5 }, () => ({ model: 'chaos/keyed', input: { prompt: 'waits' } }));
  return sendFile(host, attack, '/v1/files', 'file', fileOf(lines), cappedKey);
});
const cappedKey = { authorization: '' };

/** Their lines wait for the next day, and a batch must not hold what others need while it waits. */
export const WAITING_BATCHES: Attack = {
  name: 'batches that wait',
  lanes: 1,
  pauseMs: 2_000,
  async run(host) {
    const id = await waitingFile(host, this.name, 0);
    if (id !== undefined) await sendBatch(host, this.name, id, cappedKey);
  },
};

/** Every answer about a job has megabytes, and the model file's expression reads all of it. */
export const EXPRESSIONS: Attack = {
  name: 'answers that take long to read',
  lanes: 1,
  pauseMs: 1_000,
  async run(host, number) {
    const marker = `marker-${host.attacker}-answers-${number}-`;
    await host.send(this.name, 'POST', '/v1/tasks', {
      model: FLOODED_MODEL,
      input: { prompt: `${marker} [slow 20000] [long-log]` },
      metadata: { marker },
    });
  },
};

interface PartedUpload {
  readonly id: string;
  readonly parts: readonly string[];
  completions: number;
}
const parted: { upload: PartedUpload | undefined } = { upload: undefined };

/** The parts are hashed in one order, then in another: each time they are read, and nothing is ever written. */
export const WRONG_HASHES: Attack = {
  name: 'completions with a wrong hash',
  lanes: 1,
  pauseMs: 1_500,
  async run(host, number) {
    const upload = (parted.upload ??= await startUpload(host, this.name));
    if (upload === undefined) return;
    if (++upload.completions >= COMPLETIONS_OF_AN_UPLOAD) parted.upload = undefined;
    const parts = number % 2 === 0 ? upload.parts : upload.parts.toReversed();
    const body = { part_ids: parts, md5: '0'.repeat(32) };
    await host.send(this.name, 'POST', `/v1/uploads/${upload.id}/complete`, body);
  },
};

async function startUpload(host: Host, attack: string): Promise<PartedUpload | undefined> {
  const created = await host.send(attack, 'POST', '/v1/uploads', {
    filename: 'lines.jsonl',
    purpose: 'batch',
    bytes: 2 * PART_BYTES,
    mime_type: 'application/jsonl',
  });
  const id = created?.['id'];
  if (typeof id !== 'string') return undefined;
  const parts: string[] = [];
  for (const byte of ['a', 'b']) {
    const bytes = Buffer.alloc(PART_BYTES, byte);
    const part = await sendFile(host, attack, `/v1/uploads/${id}/parts`, 'data', bytes);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return { id, parts, completions: 0 };
}

/** As many as an account may have open, and others that wait for them; what has not ended is cancelled. */
export const BACKGROUND_CALLS: Attack = {
  name: 'calls in the background',
  lanes: BACKGROUND_LANES,
  pauseMs: 1_000,
  async run(host) {
    const body = { model: SLOW_TEXT_MODEL, input: 'Say something [long]', background: true };
    const created = await host.send(this.name, 'POST', '/v1/responses', body);
    const id = created?.['id'];
    await sleep(BACKGROUND_HOLD_MS);
    if (typeof id === 'string') await host.send(this.name, 'POST', `/v1/responses/${id}/cancel`);
  },
};
