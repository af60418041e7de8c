/** Batches, and several tasks at once, against a server that does what a real one does only on bad days. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ApiError,
  ConnectionError,
  Darkroom,
  DarkroomError,
  InsufficientBalanceError,
  NotFoundError,
  TimeoutError,
} from '../src/index.ts';
import type { BatchLine, DarkroomOptions } from '../src/index.ts';
import { broken, ok, rejected, startService } from '@darkroom/testing/answering-service';
import type { Answer, Service } from '@darkroom/testing/answering-service';

const FILE = { id: 'file-1', object: 'file', purpose: 'batch' };
const BATCH = { id: 'batch_1', object: 'batch', status: 'validating' };
const COMPLETED = { ...BATCH, status: 'completed', output_file_id: 'file-2' };
const LINES: readonly BatchLine[] = [
  { custom_id: 'a', body: { model: 'm', input: { prompt: 'ä lake\nat dusk' } } },
  { custom_id: 'b', body: { model: 'm', input: { prompt: 'b' } } },
];

const clientOf = ({ url }: Service, options: Partial<DarkroomOptions> = {}): Darkroom =>
  new Darkroom({ baseUrl: url, apiKey: 'key', ...options });

/** As OpenAI's API responds, without the envelope. */
function bare(body: object): Answer {
  return (_request, response) => void response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
}

/** A response in pieces, whose connection breaks at the end if it is not complete. */
function pieces(parts: readonly Uint8Array[], isComplete = true): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/jsonl' });
    const next = (index: number): void => {
      const part = parts[index];
      if (part !== undefined) response.write(part, () => setImmediate(next, index + 1));
      else if (isComplete) response.end();
      else response.socket?.destroy();
    };
    next(0);
  };
}

async function collected<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('a batch', () => {
  it('is created of lines, which become a file first', async () => {
    await using service = await startService(bare(FILE), bare(BATCH));
    async function* source() {
      yield* LINES;
    }
    const options = { metadata: { order: '7' }, outputExpiresAfterSeconds: 3_600 };
    const { id } = await clientOf(service).batches.create(source(), options);

    assert.equal(id, BATCH.id);
    const [upload, create] = service.received;
    assert.match(upload?.headers['content-type'] ?? '', /^multipart\/form-data/);
    assert.match(upload?.body ?? '', /name="purpose"\r\n\r\nbatch\r\n/);
    const lines = LINES.map((line) =>
      JSON.stringify({ custom_id: line.custom_id, method: 'POST', url: '/v1/tasks', body: line.body }),
    );
    assert.ok(
      upload?.body.includes(`filename="lines.jsonl"`) && upload.body.includes(`\r\n\r\n${lines.join('\n')}\n\r\n`),
    );
    assert.deepEqual(JSON.parse(create?.body ?? ''), {
      input_file_id: FILE.id,
      endpoint: '/v1/tasks',
      completion_window: '24h',
      metadata: { order: '7' },
      output_expires_after: { anchor: 'created_at', seconds: 3_600 },
    });
  });

  it('is created of a file as it is, or of its id', async () => {
    await using service = await startService(bare(FILE), bare(BATCH));
    const { batches } = clientOf(service);
    await batches.create(new File(['{"custom_id":"a"}'], 'mine.jsonl'), { endpoint: '/v1/videos' });
    await batches.create('file-9', { endpoint: '/v1/videos' });

    assert.match(service.received[0]?.body ?? '', /filename="mine\.jsonl"[\s\S]*\r\n\r\n\{"custom_id":"a"\}\r\n/);
    const sent = service.received
      .slice(1)
      .map(({ body }) => JSON.parse(body) as { input_file_id: string; endpoint: string });
    assert.deepEqual(
      sent.map(({ input_file_id: file, endpoint }) => [file, endpoint]),
      [
        [FILE.id, '/v1/videos'],
        ['file-9', '/v1/videos'],
      ],
    );
  });

  it('is requested with one key in all attempts, and with another by the next call', async () => {
    const failing = rejected(503, 'SERVICE_UNAVAILABLE');
    await using service = await startService(broken, failing, bare(BATCH), bare(BATCH));
    const { batches } = clientOf(service);
    await batches.create('file-1');
    await batches.create('file-1');

    const keys = service.received.map(({ headers }) => headers['idempotency-key']);
    const [first, , , second] = keys;
    assert.match(String(first), /^sdk-/);
    assert.deepEqual(keys, [first, first, first, second]);
    assert.notEqual(second, first);
  });

  it('sends nothing when a line cannot be read', async () => {
    await using service = await startService(bare(FILE));
    async function* source(): AsyncGenerator<BatchLine> {
      yield* LINES;
      throw new Error('the disk is gone');
    }
    await assert.rejects(clientOf(service).batches.create(source()), /the disk is gone/);
    assert.equal(service.received.length, 0);
  });

  it('is waited for until it has ended, or for as long as requested', async () => {
    await using service = await startService(bare(BATCH), rejected(503, 'SERVICE_UNAVAILABLE'), bare(COMPLETED));
    const seen: string[] = [];
    const onUpdate = ({ status }: { status: string }) => void seen.push(status);
    const ended = await clientOf(service).batches.wait('batch_1', { onUpdate });
    assert.equal(ended.status, 'completed');
    assert.deepEqual(seen, ['validating', 'completed']);

    await using slow = await startService(bare(BATCH));
    await assert.rejects(clientOf(slow).batches.wait({ id: 'batch_1' }, { waitMs: 50 }), TimeoutError);
    const signal = AbortSignal.timeout(50);
    await assert.rejects(clientOf(slow).batches.wait('batch_1', { signal }), (error) => error === signal.reason);
  });

  it('has results that are read line by line, wherever the pieces end', async () => {
    const text = '{"custom_id":"ä"}\n\n{"custom_id":"b"}\n{"custom_id":"€"}';
    const single = [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));
    for (const parts of [single, [Buffer.from(text)], [Buffer.from(text.slice(0, 30)), Buffer.from(text.slice(30))]]) {
      await using service = await startService(bare(COMPLETED), pieces(parts));
      const results = await collected(clientOf(service).batches.results('batch_1'));
      assert.deepEqual(
        results.map(({ custom_id: id }) => id),
        ['ä', 'b', '€'],
      );
    }
  });

  it('has results until the download breaks off', async () => {
    await using service = await startService(bare(COMPLETED), pieces([Buffer.from('{"custom_id":"a"}\n{"cus')], false));
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const { custom_id: id } of clientOf(service).batches.results('batch_1')) seen.push(id);
    };
    await assert.rejects(read(), (error) => error instanceof ConnectionError && /broke off/.test(error.message));
    assert.deepEqual(seen, ['a']);
  });

  it('ends the download when the loop is left', async () => {
    let hasEnded = (): void => undefined;
    const ended = new Promise<void>((resolve) => (hasEnded = resolve));
    const endless: Answer = (_request, response) => {
      response.on('close', () => hasEnded());
      response.writeHead(200).write('{"custom_id":"a"}\n');
    };
    await using service = await startService(bare(COMPLETED), endless);
    for await (const { custom_id: id } of clientOf(service).batches.results('batch_1')) {
      assert.equal(id, 'a');
      break;
    }
    await ended;
  });

  it('has no results before its end, and none of a kind that it does not have', async () => {
    await using running = await startService(bare({ ...BATCH, status: 'in_progress' }));
    await assert.rejects(collected(clientOf(running).batches.results('batch_1')), (error) => {
      return error instanceof DarkroomError && /batch_1 is in_progress/.test(error.message);
    });
    await using service = await startService(bare(COMPLETED));
    assert.deepEqual(await collected(clientOf(service).batches.errors('batch_1')), []);
    assert.equal(service.received.length, 1);
  });

  it('is listed with all others, page by page', async () => {
    const page = (ids: readonly string[], hasMore: boolean) =>
      bare({ object: 'list', data: ids.map((id) => ({ ...BATCH, id })), has_more: hasMore });
    await using service = await startService(page(['c', 'b'], true), page(['a'], false));
    const listed = await collected(clientOf(service).batches.list());

    assert.deepEqual(
      listed.map(({ id }) => id),
      ['c', 'b', 'a'],
    );
    assert.deepEqual(
      service.received.map(({ url }) => url),
      ['/v1/batches?limit=100', '/v1/batches?limit=100&after=b'],
    );
  });

  it('needs an id', async () => {
    await using service = await startService(rejected(404, 'NOT_FOUND'));
    await assert.rejects(clientOf(service).batches.retrieve(''), TypeError);
    await assert.rejects(clientOf(service).batches.cancel('../tasks'), NotFoundError);
    assert.deepEqual(
      service.received.map(({ url }) => url),
      ['/v1/batches/..%2Ftasks/cancel'],
    );
  });
});

describe('several tasks', () => {
  const error = { code: 402, message: 'the balance is too low', data: null, error_code: 'INSUFFICIENT_BALANCE' };

  it('are accepted or rejected one by one', async () => {
    await using service = await startService(
      ok({
        results: [
          { status: 200, taskId: 'tk-1', isReplay: false },
          { status: 402, error },
        ],
      }),
    );
    const tasks = [
      { model: 'm', input: { prompt: 'a' }, idempotencyKey: 'mine' },
      { model: 'm', input: { prompt: 'b' } },
    ];
    const [first, second] = await clientOf(service).submitMany(tasks);

    assert.deepEqual(first, { taskId: 'tk-1', idempotencyKey: 'mine' });
    assert.ok(second?.error instanceof InsufficientBalanceError);
    assert.deepEqual([second.error.status, second.error.message], [402, 'the balance is too low']);
    const sent = JSON.parse(service.received[0]?.body ?? '') as { tasks: { idempotencyKey: string }[] };
    assert.deepEqual(
      sent.tasks.map(({ idempotencyKey }) => idempotencyKey),
      ['mine', second.idempotencyKey],
    );
  });

  it('have the same keys when the request is sent again', async () => {
    await using service = await startService(broken, rejected(503, 'SERVICE_UNAVAILABLE'), ok({ results: [] }));
    const outcomes = await clientOf(service).submitMany([{ model: 'm', input: {} }]);

    assert.equal(new Set(service.received.map(({ body }) => body)).size, 1);
    assert.equal(service.received.length, 3);
    assert.ok(outcomes[0]?.error instanceof ApiError);
  });
});

describe('a short-lived token', () => {
  it('is created with the rights that it gets', async () => {
    await using service = await startService(ok({ token: 'dk_t_1' }));
    const rights = { scopes: ['tasks:write' as const], spendCap: '0.5', origins: ['https://shop.example'] };
    const { token } = await clientOf(service).tokens.create(rights);

    assert.equal(token, 'dk_t_1');
    assert.deepEqual([service.received[0]?.url, JSON.parse(service.received[0]?.body ?? '')], ['/v1/tokens', rights]);
  });
});
