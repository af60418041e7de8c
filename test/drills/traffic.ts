/** A client of an installation that uses everything all the time, and remembers how it was answered. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Between two rounds: the machine has other work than these. */
const PAUSE_MS = 1_000;

/** What the client sends; the last ones go to providers of its own. */
export type Use = 'create' | 'read' | 'download' | 'chat' | 'create elsewhere' | 'chat elsewhere';

export interface Traffic {
  /** How each use was answered since the last call: `200`, `503`, or `none`. */
  take(): ReadonlyMap<Use, ReadonlySet<string>>;
  /** Answers that a client is not promised; whoever reads them may remove them. */
  readonly broken: string[];
  /** After the last request was answered. */
  stop(): Promise<void>;
}

export interface Facts {
  readonly url: string;
  readonly key: string;
  /** A task that has succeeded, and the address of its output. */
  readonly done: { readonly taskId: string; readonly download: string };
  readonly callbackUrl: string;
  /** Whose upstreams are outside. */
  readonly models: { readonly tasks: readonly string[]; readonly text: string };
}

export function startTraffic({ url, key, done, callbackUrl, models }: Facts): Traffic {
  let answered = new Map<Use, Set<string>>();
  const broken: string[] = [];
  let isOver = false;

  async function request(use: Use, target: string, body?: unknown): Promise<void> {
    const outcome = await fetch(target, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    }).then(outcomeOf, () => 'none');
    const outcomes = answered.get(use) ?? new Set();
    answered.set(use, outcomes.add(outcome));
    if (!/^\d{3}$/.test(outcome)) broken.push(`${use}: ${outcome}`);
  }

  async function round(): Promise<void> {
    const callback = { url: callbackUrl };
    const prompt = 'a lighthouse';
    const messages = [{ role: 'user', content: 'hello' }];
    await request('create', `${url}/v1/tasks`, { model: 'darkroom/poster', input: { prompt }, callback });
    await request('read', `${url}/v1/tasks/${done.taskId}`);
    await request('download', done.download);
    await request('chat', `${url}/v1/chat/completions`, { model: 'darkroom/conformance-text', messages });
    for (const model of models.tasks)
      await request('create elsewhere', `${url}/v1/tasks`, { model, input: { prompt } });
    await request('chat elsewhere', `${url}/v1/chat/completions`, { model: models.text, messages });
  }

  const flowing = (async () => {
    while (!isOver) {
      await round();
      await sleep(PAUSE_MS);
    }
  })();
  return {
    take() {
      const taken = answered;
      answered = new Map();
      return taken;
    },
    broken,
    async stop() {
      isOver = true;
      await flowing;
    },
  };
}

/** @returns its status if it is an answer as documented, and otherwise what is wrong with it. */
async function outcomeOf(response: Response): Promise<string> {
  const text = Buffer.from(await response.arrayBuffer()).toString();
  if (response.ok) return String(response.status);
  try {
    const body = JSON.parse(text) as { code?: unknown; error_code?: unknown; error?: { message?: unknown } };
    // The endpoints in OpenAI's dialect have its form of errors, from an api; the proxy has one form for all.
    if (body.error === undefined) assert.deepEqual([body.code, typeof body.error_code], [response.status, 'string']);
    else assert.equal(typeof body.error.message, 'string');
    if (response.status === 503) assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    return String(response.status);
  } catch {
    return `${response.status} ${text.slice(0, 300)}`;
  }
}
